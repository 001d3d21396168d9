/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Read the usage of containers from their control groups, of version 1 or 2. */
#pragma once

#include <stdint.h>

#define GROUP_USAGE_ROOT      "/sys/fs/cgroup"
#define GROUP_USAGE_NAME_SIZE 64
#define GROUP_USAGE_PAGE      64 /* containers of one call, which takes some milliseconds */

struct group_usage {
    char name[GROUP_USAGE_NAME_SIZE]; /* without the project */
    uint64_t cpu_ms;
    uint64_t memory_bytes; /* without the kernel's caches */
    uint64_t cache_bytes;
    uint64_t memory_kills; /* processes that the kernel killed for lack of memory */
};

/* Read the containers whose names follow `after` ("": the first ones), by name. Returns their
 * number. Containers that end meanwhile are left out. *next: the `after` of the next call; "":
 * there are no more. */
unsigned group_usage_read(const char *root, const char *after,
                          struct group_usage list[GROUP_USAGE_PAGE],
                          char next[GROUP_USAGE_NAME_SIZE]);
