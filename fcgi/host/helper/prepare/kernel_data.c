/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "helper/prepare/kernel_data.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"

#define RUN_FOLDER "/run"
#define NAME       "criu.kdat"
#define PLACE      RUN_FOLDER "/" NAME

/* Let CRIU write the file, in a mount namespace in which this folder is /run. */
static void write_data(const char *folder)
{
    pid_t pid = fork();
    if (pid == 0) {
        int null = open("/dev/null", O_RDWR | O_CLOEXEC);
        dup2(null, STDOUT_FILENO);
        dup2(null, STDERR_FILENO);
        if (unshare(CLONE_NEWNS) == 0 && mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
            mount(folder, RUN_FOLDER, NULL, MS_BIND, NULL) == 0)
            execlp("criu", "criu", "check", NULL);
        _exit(127);
    }
    if (pid > 0)
        waitpid(pid, NULL, 0);
}

static bool has_data(const char *path)
{
    struct stat found;
    return stat(path, &found) == 0 && found.st_size > 0;
}

static void take_place(const char *data)
{
    autoclose int place = open(PLACE, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (place >= 0 && mount(data, PLACE, NULL, MS_BIND, NULL) < 0)
        unlink(PLACE);
}

void kernel_data_keep(void)
{
    char folder[] = "/tmp/sandlot-criu-XXXXXX";
    struct statfs found;
    if (statfs(RUN_FOLDER, &found) < 0 || found.f_type == TMPFS_MAGIC)
        return;
    umount(PLACE); /* from an earlier run, perhaps of another version of CRIU */
    if (!mkdtemp(folder))
        return;
    if (mount("sandlot-criu", folder, "tmpfs", 0, "size=64k,mode=700") == 0) {
        autofree char *data = xasprintf("%s/" NAME, folder);
        write_data(folder);
        if (has_data(data))
            take_place(data);
        umount(folder);
    }
    rmdir(folder);
}
