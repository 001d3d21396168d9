/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit/unit.h"

#include <limits.h>

#include "base/deadline.h"

static void a_forgotten_one_has_passed(void **state)
{
    struct deadline forgotten = {0};
    assert_true(deadline_passed(forgotten));
    assert_int_equal(deadline_left_ms(forgotten), 0);
    assert_true(deadline_passed(deadline_in_ms(0)));
}

static void a_step_ends_with_the_whole(void **state)
{
    struct deadline whole = deadline_in_ms(60000);
    assert_int_equal(deadline_within_ms(whole, 600000).at_ms, whole.at_ms);
    assert_true(deadline_within_ms(whole, 100).at_ms < whole.at_ms);
    assert_true(deadline_passed(deadline_within_ms((struct deadline){0}, 600000)));
}

static void what_is_left_never_wraps(void **state)
{
    assert_true(deadline_left_ms(deadline_in_ms(UINT_MAX)) > UINT_MAX / 2);
    assert_int_equal(deadline_left_ms((struct deadline){INT64_MAX}), UINT_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_forgotten_one_has_passed),
        cmocka_unit_test(a_step_ends_with_the_whole),
        cmocka_unit_test(what_is_left_never_wraps),
    };
    return run_tests(tests);
}
