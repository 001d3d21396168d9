/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pool-guard watch POOL: keep a part of a btrfs pool from the guests while it is mounted (pool.h).
 * The unit sandlot-pool starts it with incusd.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "base/str.h"
#include "helper/guard/leftovers.h"
#include "helper/guard/pool.h"
#include "helper/helper.h"

#define LEFTOVERS_EVERY 60 /* turns of a second */

static int fail(const char *path, const char *what)
{
    fprintf(stderr, "pool-guard: %s %s\n", path, what);
    return EXIT_FAILURE;
}

static bool has_lean(const struct guard_pool *pool)
{
    unsigned count;
    autofree uint64_t *ids = guard_group_list(pool->groups, 2, &count);
    return count > 0;
}

static void become_full(const struct guard_pool *pool, bool *full)
{
    if (!*full)
        printf(
            "pool-guard: the sandboxes' part of %s is full: of %ju free MiB, %ju are reserved for "
            "the host\n",
            pool->top, (uintmax_t)(pool->room.free / GUARD_MIB),
            (uintmax_t)(pool->room.reserve / GUARD_MIB));
    *full = true;
    guard_lean_all(pool);
    guard_unlean_all(pool, true);
}

static void have_room(const struct guard_pool *pool, bool *full)
{
    printf("pool-guard: %s has room again\n", pool->top);
    *full = false;
    guard_unlean_all(pool, false);
}

/* Check the pool once. Returns -1 when it is no longer mounted. */
static int look(struct guard_pool *pool, bool *full)
{
    if (guard_pool_hold(pool) < 0)
        return -1;
    guard_set_limit(pool);
    if (guard_is_full(&pool->room))
        become_full(pool, full);
    else if (*full && guard_has_room_again(&pool->room))
        have_room(pool, full);
    guard_pool_let_go(pool);
    return 0;
}

static int watch(struct guard_pool *pool)
{
    const struct timespec turn = {.tv_sec = 1};
    if (guard_pool_hold(pool) < 0)
        return fail(pool->top, "is not mounted");
    if (guard_groups_prepare(pool) < 0)
        return fail(pool->top, strerror(errno));
    guard_pool_let_go(pool);
    /* An earlier run may have left groups of level 2. */
    bool full = has_lean(pool);
    for (unsigned turns = 0; look(pool, &full) == 0; turns++) {
        if (turns % LEFTOVERS_EVERY == 0)
            leftovers_remove(pool);
        nanosleep(&turn, NULL);
    }
    return EXIT_SUCCESS;
}

int helper_pool_guard(int argc, char **argv)
{
    struct guard_pool pool;
    if (argc != 3 || !str_equal(argv[1], "watch")) {
        fputs("usage: pool-guard watch POOL\n", stderr);
        return EXIT_FAILURE;
    }
    setvbuf(stdout, NULL, _IOLBF, 0);
    int status = guard_pool_find(&pool, argv[2]) < 0
                     ? fail(argv[2], "has no simple quotas: sandboxes can use all of its space")
                     : watch(&pool);
    guard_pool_deinit(&pool);
    return status;
}
