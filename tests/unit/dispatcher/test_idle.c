/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit/unit.h"

#include "base/clock.h"
#include "dispatcher/idle.h"

static const char long_idle[] = "{\"idle_ms\": 3600000, \"connections\": 0}";

TEST(test_idle_for_the_timeout)
{
    const struct sandbox_ready ready = {.idle_timeout_s = 60};
    assert_true(idle_is_over(&ready, "{\"idle_ms\": 60000, \"connections\": 0}", 60000));
    assert_false(idle_is_over(&ready, "{\"idle_ms\": 59999, \"connections\": 0}", 60000));
}

TEST(test_without_a_timeout_nothing_is_idle)
{
    const struct sandbox_ready ready = {.idle_timeout_s = 0};
    assert_false(idle_is_over(&ready, long_idle, 3600000));
}

TEST(test_an_agent_of_an_earlier_run_is_not_believed)
{
    const struct sandbox_ready ready = {.idle_timeout_s = 60};
    assert_false(idle_is_over(&ready, long_idle, 59999));
    assert_true(idle_is_over(&ready, long_idle, 60000));
}

TEST(test_connections_keep_it_awake_unless_they_are_ignored)
{
    const char *answer = "{\"idle_ms\": 60000, \"connections\": 1}";
    struct sandbox_ready ready = {.idle_timeout_s = 60};
    assert_false(idle_is_over(&ready, answer, 60000));
    ready.ignores_connections = true;
    assert_true(idle_is_over(&ready, answer, 60000));
}

TEST(test_a_hold_keeps_it_awake)
{
    struct sandbox_ready ready = {.idle_timeout_s = 60, .hold_until_ms = clock_now_ms() + 60000};
    assert_false(idle_is_over(&ready, long_idle, 3600000));
    ready.hold_until_ms = clock_now_ms() - 1;
    assert_true(idle_is_over(&ready, long_idle, 3600000));
}

TEST(test_failed_pauses_are_tried_less_often)
{
    struct sandbox_ready ready = {.idle_timeout_s = 60, .pause_failures = 1};
    assert_false(idle_is_over(&ready, long_idle, 119999));
    assert_true(idle_is_over(&ready, long_idle, 120000));
    ready.pause_failures = 1000;
    assert_true(idle_is_over(&ready, long_idle, 60000 * 32));
}

TEST(test_other_answers_are_not_idle)
{
    const struct sandbox_ready ready = {.idle_timeout_s = 60};
    static const char *const answers[] = {
        "",
        "{}",
        "[]",
        "3600000",
        "{\"idle_ms\": \"3600000\", \"connections\": 0}",
        "{\"idle_ms\": 3600000}",
        "{\"idle_ms\": 3600000, \"connections\": null}",
        "{\"idle_ms\": -1, \"connections\": 0}",
        "{\"listener\":\"none\"}",
    };
    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++)
        assert_false(idle_is_over(&ready, answers[i], 3600000));
}

TEST(test_choices_made_meanwhile_keep_it_awake)
{
    const struct sandbox_ready ready = {
        .incarnation = 7, .idle_timeout_s = 60, .ignores_connections = true};
    struct sandbox row = {.state = SANDBOX_READY,
                          .incarnation = 7,
                          .idle_timeout = 60,
                          .idle_connections = IDLE_CONNECTIONS_IGNORE};
    assert_true(idle_is_current(&ready, &row));
    row.idle_connections = IDLE_CONNECTIONS_WAIT;
    assert_false(idle_is_current(&ready, &row));
    row.idle_connections = IDLE_CONNECTIONS_IGNORE;
    row.hold_until_ms = clock_now_ms() + 60000;
    assert_false(idle_is_current(&ready, &row));
    row.hold_until_ms = 0;
    row.idle_timeout = 61;
    assert_false(idle_is_current(&ready, &row));
    row.idle_timeout = 60;
    row.incarnation = 8;
    assert_false(idle_is_current(&ready, &row));
    row.incarnation = 7;
    row.state = SANDBOX_STOPPING;
    assert_false(idle_is_current(&ready, &row));
}

TEST(test_no_pause_begins_while_incus_of_the_host_is_away)
{
    const struct sandbox_ready ready = {.incarnation = 7, .idle_timeout_s = 60};
    struct sandbox row = {.state = SANDBOX_READY, .incarnation = 7, .idle_timeout = 60};
    assert_true(idle_is_current(&ready, &row));
    row.host_condition.silent_since_ms = clock_now_ms();
    assert_false(idle_is_current(&ready, &row));
}
