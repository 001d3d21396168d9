/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sandlot-mount-lxcfs: mount the files of lxcfs over those of /proc and /sys in a starting
 * container. liblxc calls it as a hook (lxc.container.conf(5), lxc.hook.mount).
 *
 * The hook of lxcfs itself does the same in a shell, with two processes for each file. That takes a
 * tenth of the time of a start.
 *
 * The program runs in the container's namespaces, while the root is still the host's. It looks up
 * the places to mount on inside the container's root, and follows no links. For a container without
 * a namespace of control groups, it runs the hook of lxcfs. When lxcfs does not run, both hooks
 * mount nothing: the container starts, and shows the memory and processors of the machine.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "helper/helper.h"

#define LXCFS      "/var/lib/lxcfs"
#define LXCFS_HOOK "/usr/share/lxcfs/lxc.mount.hook"
#define CPU        "sys/devices/system/cpu"

static int fail(const char *what, const char *path)
{
    fprintf(stderr, "sandlot-mount-lxcfs: %s %s: %s\n", what, path, strerror(errno));
    return -1;
}

/* Return whether errno says that lxcfs never ran, or has died. */
static bool is_away(void)
{
    return errno == ENOENT || errno == ENOTCONN;
}

/* Open a path of the container. Returns -1 with errno. */
static int find(int root, const char *path)
{
    const struct open_how how = {.flags = O_PATH | O_CLOEXEC,
                                 .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_SYMLINKS};
    return (int)syscall(SYS_openat2, root, path, &how, sizeof how);
}

/* Mount a file or folder of lxcfs over a path of the container, if the container has that path. */
static int lay_over_other(int lxcfs, const char *source, int root, const char *path)
{
    autoclose int target = find(root, path);
    if (target < 0)
        return errno == ENOENT ? 0 : fail("cannot mount on", path);
    autoclose int tree = open_tree(lxcfs, source, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
    if (tree < 0 ||
        move_mount(tree, "", target, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) < 0)
        return fail("cannot mount", path);
    return 0;
}

static int lay_over(int lxcfs, int root, const char *path)
{
    return lay_over_other(lxcfs, path, root, path);
}

/* lxcfs counts the uptime from the container's start, but the kernel counts the start times of
 * processes from the host's boot. With both, ps shows ages of more than a century. */
static bool is_left_to_the_kernel(const char *name)
{
    return strcmp(name, "uptime") == 0;
}

/* Mount each entry of a folder of lxcfs. */
static int lay_each_over(int lxcfs, int root, const char *folder)
{
    char path[PATH_MAX];
    int result = 0;
    int there = openat(lxcfs, folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (there < 0)
        return is_away() ? 0 : fail("cannot open", folder);
    DIR *entries = fdopendir(there);
    if (!entries) {
        close(there);
        return fail("cannot list", folder);
    }
    for (const struct dirent *entry; result == 0 && (entry = readdir(entries));) {
        if (entry->d_name[0] == '.' || is_left_to_the_kernel(entry->d_name))
            continue;
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        result = lay_over(lxcfs, root, path);
    }
    closedir(entries);
    return result;
}

/* Mount the processors of lxcfs: the whole folder, or single files in older versions. A container
 * has only the processors in "online". But any version of lxcfs shows the host's "present" and
 * "possible", which _SC_NPROCESSORS_CONF counts. */
static int lay_processors_over(int lxcfs, int root)
{
    int result = faccessat(lxcfs, CPU "/uevent", F_OK, 0) == 0 ? lay_over(lxcfs, root, CPU)
                                                               : lay_each_over(lxcfs, root, CPU);
    if (result < 0 || faccessat(lxcfs, CPU "/online", F_OK, 0) < 0)
        return result;
    return lay_over_other(lxcfs, CPU "/online", root, CPU "/possible") < 0
               ? -1
               : lay_over_other(lxcfs, CPU "/online", root, CPU "/present");
}

int helper_mount_lxcfs(int argc, char **argv)
{
    const char *container = getenv("LXC_ROOTFS_MOUNT");
    (void)argc;
    if (!container) {
        fprintf(stderr, "sandlot-mount-lxcfs: LXC_ROOTFS_MOUNT is not set; liblxc runs this\n");
        return EXIT_FAILURE;
    }
    if (!getenv("LXC_CGNS_AWARE")) {
        execv(LXCFS_HOOK, argv);
        fail("cannot run", LXCFS_HOOK);
        return EXIT_FAILURE;
    }
    autoclose int root = open(container, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (root < 0) {
        fail("cannot open", container);
        return EXIT_FAILURE;
    }
    autoclose int lxcfs = open(LXCFS, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (lxcfs < 0 && is_away())
        return EXIT_SUCCESS;
    if (lxcfs < 0) {
        fail("cannot open", LXCFS);
        return EXIT_FAILURE;
    }
    return lay_each_over(lxcfs, root, "proc") < 0 || lay_processors_over(lxcfs, root) < 0
               ? EXIT_FAILURE
               : EXIT_SUCCESS;
}
