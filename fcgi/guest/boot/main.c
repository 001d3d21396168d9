/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sandlot-boot: the first program of a virtual machine. The machine's kernel starts it from the
 * initial file system, which also has the kernel's modules. sandlot-boot mounts the disk and sets
 * the address. Then it becomes the agent, which is the init of the sandbox, as in a container.
 */
#include <errno.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <unistd.h>

#include "boot/boot.h"

#define AGENT     "/usr/lib/sandlot/sandlot-agent"
#define GATEWAY   "169.254.0.1"
#define HOST_NAME "sandbox"

struct place {
    const char *type, *path, *options;
    unsigned long flags;
};

/* Mounts that the boot needs. enter_root() moves them to the root of the disk. */
static const struct place early[] = {
    {"devtmpfs", "/dev", "mode=755", MS_NOSUID},
    {"proc", "/proc", NULL, MS_NOSUID | MS_NODEV | MS_NOEXEC},
    {"sysfs", "/sys", NULL, MS_NOSUID | MS_NODEV | MS_NOEXEC},
};

static const struct place late[] = {
    {"devpts", "/dev/pts", "gid=5,mode=620,ptmxmode=666", MS_NOSUID | MS_NOEXEC},
    {"tmpfs", "/dev/shm", "size=50%,mode=1777", MS_NOSUID | MS_NODEV},
    {"mqueue", "/dev/mqueue", NULL, MS_NOSUID | MS_NODEV | MS_NOEXEC},
    {"tmpfs", "/run", "size=25%,mode=755", MS_NOSUID | MS_NODEV},
    {"cgroup2", "/sys/fs/cgroup", NULL, MS_NOSUID | MS_NODEV | MS_NOEXEC},
};

static void mount_places(const struct place *places, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        mkdir(places[i].path, 0755);
        if (mount(places[i].type, places[i].path, places[i].type, places[i].flags,
                  places[i].options) < 0 &&
            errno != EBUSY)
            fprintf(stderr, "sandlot-boot: cannot mount %s: %m\n", places[i].path);
    }
}

/* Make the disk's file system the root; the initial one stays below it, empty. */
static int enter_root(void)
{
    char target[64];
    for (size_t i = 0; i < sizeof early / sizeof *early; i++) {
        snprintf(target, sizeof target, BOOT_ROOT "%s", early[i].path);
        mkdir(target, 0755);
        if (mount(early[i].path, target, NULL, MS_MOVE, NULL) < 0)
            return -1;
    }
    return chdir(BOOT_ROOT) < 0 || mount(".", "/", NULL, MS_MOVE, NULL) < 0 || chroot(".") < 0 ||
                   chdir("/") < 0
               ? -1
               : 0;
}

/* The console is the only place to tell the host; it reads its last lines. */
__attribute__((noreturn)) static void give_up(const char *what)
{
    fprintf(stderr, "sandlot-boot: cannot %s: %m\n", what);
    sync();
    reboot(RB_POWER_OFF);
    _exit(1);
}

int main(int argc, char **argv)
{
    (void)argv;
    if (getpid() != 1) {
        puts(argc > 1 ? "sandlot-boot " PACKAGE_VERSION
                      : "sandlot-boot is the first program of a virtual machine");
        return argc > 1 ? 0 : 2;
    }
    mount_places(early, sizeof early / sizeof *early);
    boot_load_modules("/modules/load");
    if (boot_mount_disk() < 0)
        give_up("use the disk");
    boot_set_address(GATEWAY);
    if (sethostname(HOST_NAME, sizeof HOST_NAME - 1) < 0)
        fprintf(stderr, "sandlot-boot: cannot set the host name: %m\n");
    if (enter_root() < 0)
        give_up("enter the root of the disk");
    mount_places(late, sizeof late / sizeof *late);
    execl(AGENT, AGENT, "--machine", (char *)NULL);
    give_up("run " AGENT);
}
