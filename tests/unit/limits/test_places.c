/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit/unit.h"

#include "common/places.h"

static void a_tenant_has_a_part_of_the_places(void **state)
{
    struct places places = {.most = 8, .most_of_tenant = 2};
    assert_true(places_take(&places, 1, 10));
    assert_true(places_take(&places, 1, 11));
    assert_false(places_take(&places, 1, 12));
    assert_false(places_has_room(&places, 1));
    assert_true(places_take(&places, 2, 20));
    places_leave(&places, 12); /* it has no place */
    assert_false(places_take(&places, 1, 12));
    places_leave(&places, 10);
    assert_true(places_take(&places, 1, 12));
    assert_int_equal(places.count, 3);
}

static void all_places_may_be_taken(void **state)
{
    struct places places = {.most = 4, .most_of_tenant = 2};
    for (uint64_t i = 0; i < 4; i++)
        assert_true(places_take(&places, i, i));
    assert_false(places_take(&places, 9, 9));
    places_leave(&places, 0);
    assert_true(places_take(&places, 9, 9));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_tenant_has_a_part_of_the_places),
        cmocka_unit_test(all_places_may_be_taken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
