/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The memory of the machine, or the share that its /proc/meminfo shows (proc(5)). */
#pragma once

#include <stdint.h>

/* In bytes; 0: unknown. */
struct meminfo {
    uint64_t total;
    uint64_t available; /* available without swapping: free memory and most of the caches */
    uint64_t cached;
};

void meminfo_read(struct meminfo *memory);
