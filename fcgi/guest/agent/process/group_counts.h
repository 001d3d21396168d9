/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel's counts and limits of the processes of the sandbox. */
#pragma once

#include <stdint.h>

/* So far, over pauses too; 0 where the kernel does not say. */
struct group_counts {
    uint64_t memory_kills;  /* processes killed for want of memory */
    uint64_t refused_forks; /* processes that were too many */
};
void group_counts_read(struct group_counts *counts);

/* Return the memory that the sandbox may use, in MiB; 0 where the kernel does not say. */
uint64_t group_memory_mb(void);
