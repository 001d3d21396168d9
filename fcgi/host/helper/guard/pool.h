/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The quota groups of a btrfs pool with simple quotas, which keep a part of it from the guests, so
 * that the host can go on when they have filled theirs. Over those of the subvolumes (0/ID) are:
 *
 *   1/0   what guests write: all subvolumes that have a size. Its limit is what it holds plus the
 *         room that is free beyond the reserve.
 *   1/1   memory images (criu/image.h): no limit, they may take the reserve. What one may hold is
 *         bounded by the memory of its sandbox.
 *   2/ID  a small subvolume in a pool whose guests' part is full: it is outside of 1/0 and may grow
 *         to a guarantee out of the reserve, so that a neighbour who has filled the pool stops none
 *         who uses little. When there is room again it goes back.
 *
 * The top of the file system is in none of them: making and deleting subvolumes is never refused.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/btrfs.h"
#include "helper/guard/decide.h"

struct guard_pool {
    char *top;                       /* where it is mounted */
    char *groups;                    /* the folder of its quota groups in sysfs */
    char uuid[BTRFS_UUID_TEXT_SIZE]; /* of the file system */
    int fd;                          /* the top, held with the lock; -1: not held */
    uint64_t guarantee;
    unsigned percent;
    struct guard_room room;
};

/* The pool that holds a path. Returns 0; -1: it is on no btrfs with simple quotas. Either way the
 * caller calls guard_pool_deinit(). */
int guard_pool_find(struct guard_pool *pool, const char *path);
void guard_pool_deinit(struct guard_pool *pool);

/* Open the top and take its lock, under which one process at a time changes what belongs where, and
 * measure. Returns 0, or -1 when the pool is not mounted any more. A pool that is held cannot be
 * unmounted: let it go soon. */
int guard_pool_hold(struct guard_pool *pool);
void guard_pool_let_go(struct guard_pool *pool);

/* --- of one that is held --- */

bool guard_group_exists(const struct guard_pool *pool, unsigned level, uint64_t id);

/* Ids of a level, in no order; the caller frees them. */
uint64_t *guard_group_list(const char *groups, unsigned level, unsigned *count);

/* Make the groups of guests and of images, and put all subvolumes that have a size among the
 * guests. Returns -1 with errno when that of the guests cannot be made. */
int guard_groups_prepare(const struct guard_pool *pool);

void guard_set_limit(const struct guard_pool *pool);

/* own: what the subvolume may write now, whatever it holds. */
void guard_lean(const struct guard_pool *pool, uint64_t id, uint64_t own);
/* Of one that is gone, too: what is left of it goes. */
void guard_unlean(const struct guard_pool *pool, uint64_t id);
/* All subvolumes that hold less than the guarantee. */
void guard_lean_all(const struct guard_pool *pool);
/* but_there: only those whose subvolumes are gone. */
void guard_unlean_all(const struct guard_pool *pool, bool but_there);
