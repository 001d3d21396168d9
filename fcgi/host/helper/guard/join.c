/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "helper/guard/join.h"

#include "helper/guard/pool.h"

#define OWN_ROOM (16 * GUARD_MIB)

static void join(struct guard_pool *pool, uint64_t id)
{
    if (!guard_group_exists(pool, 1, 0) || guard_pool_hold(pool) < 0)
        return;
    if (guard_is_full(&pool->room))
        guard_lean(pool, id, OWN_ROOM);
    else
        guard_set_limit(pool); /* there may be room since the guard's last check */
    if (!guard_group_exists(pool, 2, id))
        btrfs_group_join(pool->fd, id, BTRFS_GUESTS);
}

void guard_join(const char *path, uint64_t id)
{
    struct guard_pool pool;
    if (guard_pool_find(&pool, path) == 0)
        join(&pool, id);
    guard_pool_deinit(&pool);
}
