/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/common/disk.h"

#include <fcntl.h>
#include <inttypes.h>
#include <linux/btrfs.h>
#include <linux/btrfs_tree.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/mem.h"

static uint64_t read_number(const char *group, const char *name)
{
    autofree char *path = xasprintf("%s/%s", group, name);
    autofclose FILE *file = fopen(path, "re");
    uint64_t value;
    return file && fscanf(file, "%" SCNu64, &value) == 1 ? value : 0;
}

int disk_read_quota(const char *group, struct disk_usage *usage)
{
    uint64_t flags = read_number(group, "limit_flags");
    if (!(flags & (BTRFS_QGROUP_LIMIT_MAX_RFER | BTRFS_QGROUP_LIMIT_MAX_EXCL)))
        return -1;
    bool all = flags & BTRFS_QGROUP_LIMIT_MAX_RFER;
    usage->total_bytes = read_number(group, all ? "max_referenced" : "max_exclusive");
    /* What was written and waits for the next commit counts against the limit already. */
    usage->used_bytes =
        read_number(group, all ? "referenced" : "exclusive") + read_number(group, "rsv_data");
    return 0;
}

/* The quota group of the subvolume that holds a directory. NULL: it is not on btrfs. Both questions
 * are open to everyone. */
static char *quota_group_of(const char *path)
{
    struct btrfs_ioctl_fs_info_args info = {.max_id = 0};
    struct btrfs_ioctl_ino_lookup_args lookup = {.objectid = BTRFS_FIRST_FREE_OBJECTID};
    char uuid[2 * BTRFS_FSID_SIZE + 5];
    size_t size = 0;
    autoclose int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 || ioctl(fd, BTRFS_IOC_FS_INFO, &info) < 0 ||
        ioctl(fd, BTRFS_IOC_INO_LOOKUP, &lookup) < 0)
        return NULL;
    for (size_t i = 0; i < BTRFS_FSID_SIZE; i++)
        size += (size_t)snprintf(uuid + size, sizeof uuid - size,
                                 i == 4 || i == 6 || i == 8 || i == 10 ? "-%02x" : "%02x",
                                 info.fsid[i]);
    return xasprintf("/sys/fs/btrfs/%s/qgroups/0_%llu", uuid, (unsigned long long)lookup.treeid);
}

void disk_measure(const char *path, struct disk_usage *usage)
{
    struct statvfs status;
    autofree char *group = quota_group_of(path);
    *usage = (struct disk_usage){0, 0};
    if ((group && disk_read_quota(group, usage) == 0) || statvfs(path, &status) < 0)
        return;
    usage->used_bytes = (uint64_t)(status.f_blocks - status.f_bfree) * status.f_frsize;
    usage->total_bytes = (uint64_t)status.f_blocks * status.f_frsize;
}
