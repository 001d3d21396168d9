/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the pool guard keeps for the host, when the guests' part is full and when it has room again,
 * which limits follow, and what it takes for left over. */
#include "unit/folder.h"

#include "base/mem.h"
#include "helper/guard/decide.h"
#include "helper/guard/leftovers.h"
#include "helper/guard/pool.h"

#define MIB GUARD_MIB
#define GIB (1024 * MIB)

/* --- room --- */

TEST(the_reserve_is_a_part_of_the_pool)
{
    assert_true(guard_room_of(100 * GIB, 0, 10).reserve == 10 * GIB);
    assert_true(guard_room_of(100 * GIB, 0, 25).reserve == 25 * GIB);
    /* At least 1 GiB, at most a quarter. */
    assert_true(guard_room_of(8 * GIB, 0, 10).reserve == GIB);
    assert_true(guard_room_of(8 * GIB, 0, 0).reserve == GIB);
    assert_true(guard_room_of(2 * GIB, 0, 10).reserve == GIB / 2);
    assert_true(guard_room_of(100 * GIB, 0, 100).reserve == 25 * GIB);
}

TEST(guests_have_what_is_beyond_it)
{
    assert_true(guard_room_of(100 * GIB, 30 * GIB, 10).room == 20 * GIB);
    assert_true(guard_room_of(100 * GIB, 10 * GIB, 10).room == 0);
    assert_true(guard_room_of(100 * GIB, 3 * GIB, 10).room == 0);
}

/* It is full below a quarter of the reserve, and has room again above a half. */
TEST(it_is_full_a_while)
{
    struct guard_room room = {.reserve = 8 * GIB, .room = 2 * GIB};
    assert_false(guard_is_full(&room));
    assert_false(guard_has_room_again(&room));
    room.room = 2 * GIB - 1;
    assert_true(guard_is_full(&room));
    room.room = 4 * GIB;
    assert_false(guard_has_room_again(&room));
    room.room = 4 * GIB + 1;
    assert_true(guard_has_room_again(&room));
}

/* --- limits --- */

TEST(the_limit_follows_the_pool)
{
    struct guard_room room = {.room = 32 * GIB};
    const uint64_t small = 2 * GIB + 16 * MIB; /* a change that waits */
    uint64_t wanted;
    assert_true(guard_limit_changes(&room, 5 * GIB, 0, &wanted));
    assert_true(wanted == 37 * GIB);
    assert_false(guard_limit_changes(&room, 5 * GIB, 37 * GIB - small, &wanted));
    assert_false(guard_limit_changes(&room, 5 * GIB, 37 * GIB + small, &wanted));
    assert_true(guard_limit_changes(&room, 5 * GIB, 37 * GIB - small - 1, &wanted));
    assert_true(guard_limit_changes(&room, 5 * GIB, 37 * GIB + small + 1, &wanted));
}

TEST(the_last_room_is_closed_at_once)
{
    const struct guard_room room = {.room = 0};
    uint64_t wanted;
    assert_true(guard_limit_changes(&room, 5 * GIB, 5 * GIB + 1, &wanted));
    assert_true(wanted == 5 * GIB);
    assert_false(guard_limit_changes(&room, 5 * GIB, 5 * GIB, &wanted));
    assert_false(guard_limit_changes(&room, 5 * GIB, 5 * GIB - MIB, &wanted));
    /* 0 would be no limit. */
    assert_true(guard_limit_changes(&room, 0, 0, &wanted));
    assert_true(wanted == MIB);
}

TEST(a_small_subvolume_has_a_guarantee)
{
    assert_true(guard_lean_limit(10 * MIB, 0, 256 * MIB) == 256 * MIB);
    assert_true(guard_lean_limit(250 * MIB, 16 * MIB, 256 * MIB) == 266 * MIB);
    assert_true(guard_lean_limit(5 * GIB, 16 * MIB, 256 * MIB) == 5 * GIB + 16 * MIB);
    assert_true(guard_others_limit(10 * GIB, GIB) == 9 * GIB);
    assert_true(guard_others_limit(GIB, GIB) == MIB);
    assert_true(guard_others_limit(0, GIB) == MIB);
}

/* --- the pool --- */

TEST(what_has_no_simple_quotas_is_no_pool)
{
    struct guard_pool pool;
    assert_int_equal(guard_pool_find(&pool, "/proc/self"), -1);
    guard_pool_deinit(&pool);
    assert_int_equal(guard_pool_find(&pool, "missing"), -1);
    guard_pool_deinit(&pool);
}

static void make_folders(const char *names)
{
    autofree char *command = xasprintf("mkdir -p %s", names);
    assert_int_equal(system(command), 0); /* NOLINT(cert-env33-c) */
}

static bool has(const uint64_t *ids, unsigned count, uint64_t id)
{
    for (unsigned i = 0; i < count; i++)
        if (ids[i] == id)
            return true;
    return false;
}

TEST(groups_are_listed_by_their_level)
{
    unsigned count;
    make_folders("groups/0_5 groups/0_257 groups/1_0 groups/2_257 groups/2_x groups/20_1");
    autofree uint64_t *subvolumes = guard_group_list("groups", 0, &count);
    assert_int_equal(count, 2);
    assert_true(has(subvolumes, count, 5) && has(subvolumes, count, 257));
    autofree uint64_t *lean = guard_group_list("groups", 2, &count);
    assert_int_equal(count, 1);
    assert_true(lean[0] == 257);
    assert_null(guard_group_list("groups", 3, &count));
    assert_null(guard_group_list("missing", 0, &count));
    assert_int_equal(count, 0);
}

/* --- leftovers --- */

static void assert_left(const char *inside, leftover_source *source, const char *expected)
{
    char **names = leftovers_in("pool", inside, source);
    autofree char *found = xstrdup("");
    for (char **name = names; *name; name++) {
        char *longer = xasprintf("%s%s ", found, *name);
        free(found);
        found = longer;
        free(*name);
    }
    free(names);
    assert_string_equal(found, expected);
}

TEST(images_without_snapshots_are_left_over)
{
    autofree char *snapshot = leftovers_snapshot_of("/p", "sandlot_sbx-1.fork-2.3");
    assert_string_equal(snapshot, "/p/containers-snapshots/sandlot_sbx-1/fork-2.3");
    make_folders("pool/sandlot-images/p_a.f1 pool/sandlot-images/p_b.f2 pool/sandlot-images/.git "
                 "pool/containers-snapshots/p_a/f1");
    assert_left("sandlot-images", leftovers_snapshot_of, "p_b.f2 ");
    /* A restored image has no snapshot, also while its sandbox has others. */
    make_folders("pool/sandlot-images/p_a.restored pool/containers-snapshots/p_b/f2");
    assert_left("sandlot-images", leftovers_snapshot_of, "p_a.restored ");
}

TEST(copies_without_instances_are_left_over)
{
    autofree char *instance = leftovers_instance_of("/p", "sandlot_tpl.v2.17");
    assert_string_equal(instance, "/p/containers/sandlot_tpl.v2");
    make_folders("pool/sandlot-spares/p_a.1 pool/sandlot-spares/p_c.1 pool/containers/p_a");
    assert_left("sandlot-spares", leftovers_instance_of, "p_c.1 ");
    assert_left("sandlot-parents", leftovers_instance_of, "");
}

TEST_GROUP(make_folder, remove_folder)
