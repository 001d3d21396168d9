/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit/unit.h"

#include "http/pace.h"

#define SECOND_US INT64_C(1000000)

TEST(test_a_client_that_does_nothing)
{
    struct pace pace;
    pace_init(&pace, 1024, 10);
    pace_waited(&pace, 10 * SECOND_US);
    assert_false(pace_is_too_slow(&pace));
    pace_waited(&pace, 1);
    assert_true(pace_is_too_slow(&pace));
}

TEST(test_the_least_speed_is_enough)
{
    struct pace pace;
    pace_init(&pace, 1024, 10);
    for (unsigned i = 0; i < 1000; i++) {
        pace_waited(&pace, SECOND_US);
        pace_moved(&pace, 1024);
        assert_false(pace_is_too_slow(&pace));
    }
    for (unsigned i = 0; i < 100; i++) {
        pace_waited(&pace, SECOND_US);
        pace_moved(&pace, 512);
    }
    assert_true(pace_is_too_slow(&pace));
}

/* However much came before, a client that stalls is slow after six times the grace. */
TEST(test_a_quick_beginning_is_no_credit_for_ever)
{
    struct pace pace;
    pace_init(&pace, 1, 10);
    pace_moved(&pace, SIZE_MAX);
    pace_moved(&pace, SIZE_MAX);
    pace_waited(&pace, 60 * SECOND_US);
    assert_false(pace_is_too_slow(&pace));
    pace_waited(&pace, 1);
    assert_true(pace_is_too_slow(&pace));
}

TEST(test_no_least_speed)
{
    struct pace pace;
    pace_init(&pace, 0, 0);
    pace_waited(&pace, 1000 * SECOND_US);
    pace_moved(&pace, 1);
    assert_false(pace_is_too_slow(&pace));
}
