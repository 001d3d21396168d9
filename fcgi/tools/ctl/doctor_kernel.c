/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Check that the kernel of this host does not let sandboxes write to the host through
 * lxcfs, or use up the machine's counts.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"
#include "ctl/doctor.h"

#define LXCFS      "/var/lib/lxcfs"
#define FUSE_MAGIC 0x65735546

static void check_lxcfs(struct doctor *doctor)
{
    struct statfs kind;
    struct statvfs status;
    if (statfs(LXCFS, &kind) < 0 || kind.f_type != FUSE_MAGIC || statvfs(LXCFS, &status) < 0)
        doctor_note(doctor, "lxcfs",
                    "lxcfs is not mounted at " LXCFS
                    ": sandboxes see the memory and processors of the machine.");
    else if (status.f_flag & ST_RDONLY)
        doctor_ok(doctor, "lxcfs",
                  "lxcfs is read-only, so sandboxes cannot write to the host's files.");
    else
        doctor_wrong(doctor, "lxcfs",
                     "Run `LIBMOUNT_FORCE_MOUNT2=always mount -i -o remount,ro " LXCFS
                     "`, which also repairs the running sandboxes; the drop-in of lxcfs.service "
                     "does so at each start.",
                     "lxcfs at " LXCFS
                     " is writable: before version 6.0 any user of any sandbox can change the "
                     "processors of the host through it.");
}

/* The values of load-network; with less, one sandbox could stop others. */
static const struct {
    const char *name, *file;
    long least;
} counts[] = {
    {"fs.inotify.max_user_instances", "/proc/sys/fs/inotify/max_user_instances", 1048576},
    {"fs.inotify.max_user_watches", "/proc/sys/fs/inotify/max_user_watches", 16777216},
    {"fs.file-max", "/proc/sys/fs/file-max", 16777216},
    {"fs.aio-max-nr", "/proc/sys/fs/aio-max-nr", 16777216},
    {"kernel.pid_max", "/proc/sys/kernel/pid_max", 1048576},
    {"kernel.threads-max", "/proc/sys/kernel/threads-max", 1048576},
    {"kernel.pty.max", "/proc/sys/kernel/pty/max", 65536},
};

/* Read the number in a file of /proc; -1 with errno on failure. */
static long read_number(const char *path)
{
    char text[32];
    autofclose FILE *file = fopen(path, "re");
    if (!file || !fgets(text, sizeof text, file))
        return -1;
    return strtol(text, NULL, 10);
}

static void check_counts(struct doctor *doctor)
{
    bool high = true;
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        long value = read_number(counts[i].file);
        if (value < 0 || value >= counts[i].least)
            continue;
        high = false;
        doctor_wrong(doctor, "kernel",
                     "Run load-network (sandlot-nftables.service), which raises it. Check whether "
                     "a file in /etc/sysctl.d lowers it again.",
                     "%s is %ld: one sandbox can use all of it for the whole host.", counts[i].name,
                     value);
    }
    if (high)
        doctor_ok(doctor, "kernel", "The kernel's limits for all sandboxes together are raised.");
}

/* Sandboxes also run without both, so these are notes. */
static void check_confinement(struct doctor *doctor)
{
    char enabled = 'N';
    autofclose FILE *file = fopen("/sys/module/apparmor/parameters/enabled", "re");
    if (file && fread(&enabled, 1, 1, file) == 1 && enabled == 'Y')
        doctor_ok(doctor, "apparmor", "AppArmor of the kernel is enabled.");
    else
        doctor_note(doctor, "apparmor",
                    "AppArmor of the kernel is disabled or missing: no profile confines the "
                    "sandboxes and the daemons.");
    if (access("/sys/fs/cgroup/cgroup.controllers", F_OK) == 0)
        doctor_ok(doctor, "cgroups", "The machine has control groups v2.");
    else
        doctor_note(doctor, "cgroups",
                    "The machine has control groups v1. sandlot is tested on whole machines with "
                    "v2 only.");
}

void doctor_check_kernel(struct doctor *doctor, const char *host_url)
{
    if (!str_starts_with(host_url, "unix://"))
        return;
    check_lxcfs(doctor);
    check_counts(doctor);
    check_confinement(doctor);
}
