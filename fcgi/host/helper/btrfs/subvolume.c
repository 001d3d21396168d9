/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "helper/btrfs/subvolume.h"

#include <fcntl.h>
#include <inttypes.h>
#include <linux/btrfs.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "common/btrfs.h"
#include "helper/btrfs/files.h"

int subvolume_copy(const char *from, const char *to)
{
    return btrfs_subvolume_copy(from, to) < 0 ? -1 : EXIT_SUCCESS;
}

int subvolume_delete(const char *path)
{
    return btrfs_subvolume_delete(path) < 0 ? -1 : EXIT_SUCCESS;
}

int subvolume_tell_sealed(const char *path)
{
    int sealed = btrfs_subvolume_is_sealed(path);
    if (sealed < 0)
        return -1;
    puts(sealed ? "ro=true" : "ro=false");
    return EXIT_SUCCESS;
}

/* Print a group in btrfs' columns. incusd splits the line at spaces. */
static void print_group(const char *groups, const char *name, uint64_t id, const char *path)
{
    uint64_t flags = btrfs_group_read(groups, name, "limit_flags");
    puts("Qgroupid    Referenced    Exclusive  Max exclusive   Path \n"
         "--------    ----------    ---------  -------------   ---- ");
    printf("0/%-6" PRIu64 " %13" PRIu64 " %12" PRIu64, id,
           btrfs_group_read(groups, name, "referenced"),
           btrfs_group_read(groups, name, "exclusive"));
    if (flags & BTRFS_QGROUP_LIMIT_MAX_EXCL)
        printf(" %14" PRIu64 "   %s\n", btrfs_group_read(groups, name, "max_exclusive"), path);
    else
        printf(" %14s   %s\n", "none", path);
}

int subvolume_tell_group(const char *path)
{
    char name[BTRFS_GROUP_NAME_SIZE];
    struct btrfs_subvolume found;
    autoclose int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    autofree char *groups = fd < 0 ? NULL : btrfs_groups_of(fd);
    if (!groups || btrfs_subvolume_look(path, &found) < 0)
        return -1;
    btrfs_group_name(found.id, name);
    if (!files_exist(groups, name))
        return -1; /* quotas are off */
    print_group(groups, name, found.id, path);
    return EXIT_SUCCESS;
}

int subvolume_unseal(const char *path)
{
    return btrfs_subvolume_is_sealed(path) ? -1 : EXIT_SUCCESS;
}
