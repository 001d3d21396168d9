/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Processes of the sandbox that the kernel has killed for want of memory. */
#pragma once

#include <stdint.h>

/* Return how many there were so far, over pauses too; 0 where the kernel does not say. */
uint64_t memory_kills(void);
