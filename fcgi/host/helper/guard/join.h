/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A subvolume that incusd has given its size. */
#pragma once

#include <stdint.h>

/* Put the subvolume, by its id, among the guests of the pool that holds the path; where their part
 * is full it gets some room of its own, also when it is large, as incusd is about to write into it.
 * Nothing is done where no guard watches the pool. */
void guard_join(const char *path, uint64_t id);
