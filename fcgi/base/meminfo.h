/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The memory of the machine, or the share of it that its /proc/meminfo shows (proc(5)). */
#pragma once

#include <stdint.h>

/* In bytes; 0: not told. */
struct meminfo {
    uint64_t total;
    uint64_t available; /* can be had without swapping: what is free, and most of the caches */
    uint64_t cached;
};

void meminfo_read(struct meminfo *memory);
