/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit/unit.h"

#include "base/places.h"

static bool take(struct places *places, uint64_t team, uint64_t user, uint64_t key)
{
    return places_take(places, &(struct tenant){team, user}, key);
}

TEST(a_tenant_has_a_part_of_the_places)
{
    struct places places = {.most = 8, .most_of_tenant = 2};
    assert_true(take(&places, 1, 0, 10));
    assert_true(take(&places, 1, 0, 11));
    assert_false(take(&places, 1, 0, 12));
    assert_false(places_has_room(&places, &(struct tenant){1, 0}));
    assert_true(take(&places, 2, 0, 20));
    places_leave(&places, 12); /* it has no place */
    assert_false(take(&places, 1, 0, 12));
    places_leave(&places, 10);
    assert_true(take(&places, 1, 0, 12));
    assert_int_equal(places.count, 3);
}

TEST(a_user_of_many_teams_has_a_part_too)
{
    struct places places = {.most = 8, .most_of_tenant = 2};
    assert_true(take(&places, 1, 7, 10));
    assert_true(take(&places, 2, 7, 11));
    assert_false(take(&places, 3, 7, 12));
    assert_true(take(&places, 1, 8, 12));
    assert_false(take(&places, 1, 9, 13)); /* the team has two */
    places_leave(&places, 11);
    assert_true(take(&places, 3, 7, 14));
}

TEST(all_places_may_be_taken)
{
    struct places places = {.most = 4, .most_of_tenant = 2};
    for (uint64_t i = 0; i < 4; i++)
        assert_true(take(&places, i, i, i));
    assert_false(take(&places, 9, 9, 9));
    places_leave(&places, 0);
    assert_true(take(&places, 9, 9, 9));
}

/* Take as many places as the tenant gets, and return their number. */
static unsigned take_all(struct places *places, uint64_t team, uint64_t user)
{
    static uint64_t key;
    unsigned count = 0;
    while (take(places, team, user, ++key))
        count++;
    return count;
}

TEST(many_busy_tenants_leave_some_to_others)
{
    struct places places = {.most = PLACES_MAX, .most_of_tenant = 40, .most_when_busy = 4};
    assert_int_equal(take_all(&places, 1, 1), 40);
    assert_int_equal(take_all(&places, 2, 1), 0);
    assert_int_equal(take_all(&places, 1, 2), 0);
    for (uint64_t i = 2; i < 60; i++)
        take_all(&places, i, i);
    assert_true(places.count >= PLACES_MAX / 2 && places.count < PLACES_MAX);
    assert_int_equal(take_all(&places, 1000, 1000), 4);
    for (uint64_t i = 1001; i < 2000; i++)
        take_all(&places, i, i);
    assert_int_equal(places.count, PLACES_MAX);
}

static void assert_read(const char *text, uint64_t team, uint64_t user)
{
    struct tenant tenant = {1, 1};
    char again[TENANT_SIZE];
    assert_int_equal(tenant_parse(text, &tenant), 0);
    assert_true(tenant.team == team && tenant.user == user);
    tenant_print(&tenant, again);
    assert_string_equal(again, text);
}

TEST(a_tenant_is_one_or_two_numbers)
{
    static const char *const others[] = {"",
                                         ":",
                                         "0",
                                         "1:",
                                         "1:0",
                                         ":1",
                                         "1:2:3",
                                         "x",
                                         "1 2",
                                         "18446744073709551616",
                                         "1:00000000000000000000000000000000000000000000000002"};
    struct tenant tenant = {5, 6};
    assert_read("17", 17, 0);
    assert_read("18446744073709551615:18446744073709551615", UINT64_MAX, UINT64_MAX);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        assert_int_equal(tenant_parse(others[i], &tenant), -1);
        assert_true(tenant.team == 5 && tenant.user == 6);
    }
}
