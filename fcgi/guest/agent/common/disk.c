/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/common/disk.h"

#include <inttypes.h>
#include <linux/btrfs.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/statvfs.h>

#include "base/disk_view.h"
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
    /* Written data counts against the limit before its commit. */
    usage->used_bytes =
        read_number(group, all ? "referenced" : "exclusive") + read_number(group, "rsv_data");
    return 0;
}

void disk_measure(struct disk_usage *usage)
{
    struct statvfs status;
    *usage = (struct disk_usage){0, 0};
    if (disk_read_quota("/" DISK_VIEW_TARGET, usage) == 0 || statvfs("/", &status) < 0)
        return;
    usage->used_bytes = (uint64_t)(status.f_blocks - status.f_bfree) * status.f_frsize;
    usage->total_bytes = (uint64_t)status.f_blocks * status.f_frsize;
}
