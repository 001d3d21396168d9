/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Measure the use of the sandbox's disk. On btrfs, the host shows the agent the quota group of the
 * sandbox (base/disk_view.h; Documentation/ABI/stable/sysfs-fs-btrfs; Linux 5.9 or newer). Other
 * file systems report their quota to statfs(), or are the sandbox's own.
 */
#pragma once

#include <stdint.h>

struct disk_usage {
    uint64_t used_bytes, total_bytes; /* both 0: unknown */
};

/* Measure the disk; both numbers are 0 if they cannot be read. */
void disk_measure(struct disk_usage *usage);

/* Do the same from the directory of a quota group. Returns 0. If the directory does not exist or
 * has no limit, returns -1, and usage is unchanged. */
int disk_read_quota(const char *group, struct disk_usage *usage);
