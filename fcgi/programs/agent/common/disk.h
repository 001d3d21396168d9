/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How full the sandbox's disk is. On btrfs statfs() tells about the whole pool that all sandboxes
 * share; the limit of one sandbox is the quota group of its subvolume, which the kernel shows in
 * /sys/fs/btrfs (Documentation/ABI/stable/sysfs-fs-btrfs; Linux 5.9 or newer). Other file systems
 * tell statfs() their quota, or are the sandbox's own.
 */
#pragma once

#include <stdint.h>

struct disk_usage {
    uint64_t used_bytes, total_bytes; /* both 0: unknown */
};

/* The file system at path, which is a directory. */
void disk_measure(const char *path, struct disk_usage *usage);

/* The same from the directory of a quota group. Returns -1, and leaves usage alone, when it is not
 * there or limits nothing. */
int disk_read_quota(const char *group, struct disk_usage *usage);
