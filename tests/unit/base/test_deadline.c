/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit/unit.h"

#include <limits.h>

#include "base/deadline.h"

TEST(a_forgotten_one_has_passed)
{
    struct deadline forgotten = {0};
    assert_true(deadline_passed(forgotten));
    assert_int_equal(deadline_left_ms(forgotten), 0);
    assert_true(deadline_passed(deadline_in_ms(0)));
}

TEST(a_step_ends_with_the_whole)
{
    struct deadline whole = deadline_in_ms(60000);
    assert_int_equal(deadline_within_ms(whole, 600000).at_ms, whole.at_ms);
    assert_true(deadline_within_ms(whole, 100).at_ms < whole.at_ms);
    assert_true(deadline_passed(deadline_within_ms((struct deadline){0}, 600000)));
}

TEST(what_is_left_never_wraps)
{
    assert_true(deadline_left_ms(deadline_in_ms(UINT_MAX)) > UINT_MAX / 2);
    assert_int_equal(deadline_left_ms((struct deadline){INT64_MAX}), UINT_MAX);
}
