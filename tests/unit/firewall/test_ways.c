/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit/unit.h"

#include "base/mem.h"
#include "firewall/ways.h"

#define NOW 1000

static struct way way_of(uint32_t sandbox, uint64_t tenant, uint64_t user)
{
    return (struct way){.sandbox = sandbox, .rules = 7, .tenant = tenant, .user = user};
}

TEST(each_rule_of_each_sandbox_has_its_own)
{
    autofree struct ways *ways = xcalloc(1, sizeof *ways);
    struct way asked = way_of(1, 1, 1);
    assert_int_equal(ways_take(ways, &asked, NOW), 0);
    asked.rule = 1;
    assert_int_equal(ways_take(ways, &asked, NOW), 1);
    asked.rules = 8;
    assert_int_equal(ways_take(ways, &asked, NOW), 2);
    asked.sandbox = 2;
    assert_int_equal(ways_take(ways, &asked, NOW), 3);
    asked = way_of(1, 1, 1);
    assert_int_equal(ways_take(ways, &asked, NOW), 0);
}

TEST(one_is_free_after_a_rest_without_connections)
{
    autofree struct ways *ways = xcalloc(1, sizeof *ways);
    struct way first = way_of(1, 1, 1), second = way_of(2, 1, 1);
    assert_int_equal(ways_take(ways, &first, NOW), 0);
    assert_int_equal(ways_take(ways, &second, NOW + WAY_REST_MS), 1);
    atomic_store(&ways->connections[0], 1);
    second.rule = 1;
    assert_int_equal(ways_take(ways, &second, NOW + WAY_REST_MS + 1), 2);
    atomic_store(&ways->connections[0], 0);
    second.rule = 2;
    assert_int_equal(ways_take(ways, &second, NOW + WAY_REST_MS + 1), 0);
    assert_int_equal(ways_take(ways, &first, NOW + WAY_REST_MS + 1), 3);
}

/* nginx may connect to it again, with the request of a connection that has just ended. */
TEST(one_rests_after_its_last_connection)
{
    autofree struct ways *ways = xcalloc(1, sizeof *ways);
    struct way first = way_of(1, 1, 1), second = way_of(2, 2, 2);
    const int64_t end = NOW + 2 * WAY_REST_MS;
    assert_int_equal(ways_take(ways, &first, NOW), 0);
    atomic_store(&ways->connections[0], 1);
    ways_ended(ways, 0, end);
    assert_int_equal(atomic_load(&ways->connections[0]), 0);
    assert_int_equal(ways_take(ways, &second, end + WAY_REST_MS), 1);
    second.rule = 1;
    assert_int_equal(ways_take(ways, &second, end + WAY_REST_MS + 1), 0);
}

TEST(a_team_has_so_many)
{
    autofree struct ways *ways = xcalloc(1, sizeof *ways);
    for (uint32_t i = 0; i < EGRESS_WAYS_KEPT_TEAM_MAX; i++) {
        struct way asked = way_of(i, 1, i % 2);
        assert_int_equal(ways_take(ways, &asked, NOW), i);
    }
    struct way more = way_of(8888, 1, 5), other = way_of(9999, 2, 0);
    assert_true(ways_take(ways, &more, NOW) >= EGRESS_WAYS_KEPT);
    for (uint32_t i = 0; i < EGRESS_WAYS_KEPT_TEAM_MAX / 2; i++) {
        other.rule = i;
        assert_int_equal(ways_take(ways, &other, NOW), EGRESS_WAYS_KEPT_TEAM_MAX + i);
    }
    other.tenant = 3;
    other.rule = 9999;
    assert_true(ways_take(ways, &other, NOW) >= EGRESS_WAYS_KEPT);
    other.user = 6;
    assert_in_range(ways_take(ways, &other, NOW), 1, EGRESS_WAYS_KEPT - 1);
    assert_int_equal(ways_take(ways, &more, NOW + WAY_REST_MS + 1), 0);
}

/* Take ways of a team until there is none. Returns their number. */
static int take_all(struct ways *ways, uint64_t tenant, uint64_t user)
{
    struct way asked = way_of((uint32_t)tenant, tenant, user);
    int count = 0;
    while (ways_take(ways, &asked, NOW) >= 0) {
        asked.rule++;
        count++;
    }
    return count;
}

TEST(one_for_a_connection_is_free_when_it_is_open)
{
    autofree struct ways *ways = xcalloc(1, sizeof *ways);
    struct way asked = way_of(1, 1, 1);
    assert_int_equal(take_all(ways, 1, 1), EGRESS_WAYS_KEPT_TEAM_MAX + EGRESS_WAYS_ONCE_TEAM_MAX);
    int number = EGRESS_WAYS_KEPT + 3;
    ways_connected(ways, number);
    assert_int_equal(ways->all[number].sandbox, 0);
    atomic_store(&ways->connections[number], 1);
    asked.rule = 8888;
    assert_int_equal(ways_take(ways, &asked, NOW), number);
    assert_int_equal(ways_take(ways, &asked, NOW), -1); /* no request shares it */
    ways_connected(ways, 3);
    assert_int_equal(ways->all[3].rule, 3);
}

TEST(who_has_all_kept_ones_leaves_others_a_way)
{
    autofree struct ways *ways = xcalloc(1, sizeof *ways);
    struct way asked = way_of(99, 99, 99);
    for (uint64_t team = 1; team <= EGRESS_WAYS_KEPT / EGRESS_WAYS_KEPT_TEAM_MAX; team++)
        take_all(ways, team, team);
    for (int i = EGRESS_WAYS_KEPT; i < EGRESS_WAYS_MAX; i++)
        ways_connected(ways, i);
    assert_int_equal(ways_take(ways, &asked, NOW), EGRESS_WAYS_KEPT);
}
