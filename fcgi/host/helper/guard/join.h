/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Register a subvolume after incusd has set its size. */
#pragma once

#include <stdint.h>

/* Put a subvolume, by its id, among the guests of the pool that holds the path. In a full pool it
 * gets some room outside the guests' part, even when it is large: incusd is about to write into it.
 * Without a guard on the pool, this does nothing. */
void guard_join(const char *path, uint64_t id);
