/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Keep a part of a btrfs pool from the guests, by simple quotas. The host can then continue to work
 * when the guests have filled their part. These groups are above those of the subvolumes (0/ID):
 *
 *   1/0   guests: all subvolumes that have a size. The limit is the usage plus the free space
 *         beyond the reserve.
 *   1/1   memory images (criu/image.h). It has no limit: images may use the reserve. The memory
 *         of a sandbox bounds its image.
 *   2/ID  a small subvolume in a full pool. It is outside of 1/0, and may grow to a guarantee
 *         from the reserve. A neighbour who fills the pool therefore does not stop small users.
 *         When there is room again, the subvolume returns to 1/0.
 *
 * The top of the file system is in no group, so that subvolumes can always be created and deleted.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/btrfs.h"
#include "helper/guard/decide.h"

struct guard_pool {
    char *top;                       /* the mount point */
    char *groups;                    /* the folder of its quota groups in sysfs */
    char uuid[BTRFS_UUID_TEXT_SIZE]; /* id of the file system */
    int fd;                          /* the top, open and locked; -1: not held */
    uint64_t guarantee;
    unsigned percent;
    struct guard_room room;
};

/* Find the pool that holds a path. Returns 0, or -1 when the path is not on btrfs with simple
 * quotas. In both cases the caller calls guard_pool_deinit(). */
int guard_pool_find(struct guard_pool *pool, const char *path);
void guard_pool_deinit(struct guard_pool *pool);

/* Lock the pool and measure its free space. Under the lock, one process at a time changes the
 * groups. Returns -1 when the pool is no longer mounted. A held pool cannot be unmounted, so
 * release it soon. */
int guard_pool_hold(struct guard_pool *pool);
void guard_pool_let_go(struct guard_pool *pool);

/* --- calls that need the lock --- */

/* Return the ids of the groups of a level, in no order; the caller frees them. */
uint64_t *guard_group_list(const char *groups, unsigned level, unsigned *count);

/* Create the groups of guests and images, and put all subvolumes that have a size among the guests.
 * Returns -1 with errno when the group of guests cannot be created. */
int guard_groups_prepare(const struct guard_pool *pool);

void guard_set_limit(const struct guard_pool *pool);

/* Take all subvolumes that hold less than the guarantee out of the guests' part. */
void guard_lean_all(const struct guard_pool *pool);
/* Return all subvolumes to the guests' part, and delete the groups of deleted ones. but_there: only
 * those of deleted ones. */
void guard_unlean_all(const struct guard_pool *pool, bool but_there);

/* Register a subvolume, by its id, after incusd has set its size: put it among the guests of the
 * pool that holds the path. In a full pool it gets some room outside the guests' part, even when it
 * is large: incusd is about to write into it. Without a guard on the pool, this does nothing. */
void guard_join(const char *path, uint64_t id);
