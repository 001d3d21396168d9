/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit/unit.h"

#include "base/clock.h"
#include "base/mem.h"

TEST(formats)
{
    char text[CLOCK_ISO8601_SIZE];
    assert_string_equal(clock_format_iso8601(0, text), "1970-01-01T00:00:00.000Z");
    assert_string_equal(clock_format_iso8601(1795255500007, text), "2026-11-21T10:05:00.007Z");
    assert_string_equal(clock_format_iso8601(1709164800999, text), "2024-02-29T00:00:00.999Z");
    assert_string_equal(clock_format_iso8601(-1, text), "1969-12-31T23:59:59.999Z");
    assert_string_equal(clock_format_iso8601(-3600000, text), "1969-12-31T23:00:00.000Z");
}

TEST(formats_the_time_of_any_file)
{
    static const struct {
        struct timespec at;
        const char *text;
    } cases[] = {
        {{1795255500, 7999999}, "2026-11-21T10:05:00.007Z"},
        {{-2, 500000000}, "1969-12-31T23:59:58.500Z"},
        {{INT64_MAX, 0}, "9999-12-31T23:59:59.000Z"},
        {{INT64_MIN, 0}, "0000-01-01T00:00:00.000Z"},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        char text[CLOCK_ISO8601_SIZE];
        assert_string_equal(clock_format_iso8601(clock_of_timespec(&cases[i].at), text),
                            cases[i].text);
    }
}

TEST(parses)
{
    static const struct {
        const char *text;
        int64_t at_ms;
    } cases[] = {
        {"1970-01-01T00:00:00Z", 0},
        {"2026-11-21T10:05:00Z", 1795255500000},
        {"2026-11-21T10:05:00.007Z", 1795255500007},
        {"2026-11-21T10:05:00.0079999Z", 1795255500007},
        {"2026-11-21t10:05:00.5z", 1795255500500},
        {"2026-11-21T12:05:00+02:00", 1795255500000},
        {"2026-11-21T04:35:00.000-05:30", 1795255500000},
        {"2024-02-29T00:00:00Z", 1709164800000},
        {"2016-12-31T23:59:60Z", 1483228800000}, /* leap seconds */
        {"2016-12-31T15:59:60.5-08:00", 1483228800500},
        {"9999-12-31T23:59:59.999Z", 253402300799999},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        int64_t at_ms = -1;
        if (clock_parse_iso8601(cases[i].text, &at_ms) < 0)
            fail_msg("%s was refused", cases[i].text);
        assert_int_equal(at_ms, cases[i].at_ms);
    }
}

TEST(refuses)
{
    static const char *const refused[] = {
        "",
        "2026-11-21",
        "2026-11-21T10:05Z",
        "2026-11-21T10:05:00",
        "2026-11-21 10:05:00Z",
        "2026-13-01T00:00:00Z",
        "2026-00-01T00:00:00Z",
        "2026-04-31T00:00:00Z",
        "2025-02-29T00:00:00Z",
        "2026-11-21T24:00:00Z",
        "2026-11-21T10:60:00Z",
        "2026-11-21T10:05:00Z ",
        " 2026-11-21T10:05:00Z",
        "2026-11-21T10:05:00+0200",
        "2026-11-21T10:05:00+24:00",
        "2026-11-21T10:05:00+02:60",
        "2026-11-21T10:05:00.Z",
        "2026- 1-21T10:05:00Z",
        "2026-+1-21T10:05:00Z",
        "2026-11-21T10:05:00+ 2:00",
        "2026-11-21T10:05:00+-2:00",
        "1969-12-31T23:59:59Z",
        "1970-01-01T00:00:00+00:01",
        "9999-12-31T23:59:59-00:01",
        "2026-1-021T10:05:00Z",
        "2026-11-21T00:00:60Z",
        "2026-11-21T23:59:60+01:00",
        "2026-04-31T23:59:60Z",
    };
    for (size_t i = 0; i < ARRAY_SIZE(refused); i++) {
        int64_t at_ms;
        if (clock_parse_iso8601(refused[i], &at_ms) == 0)
            fail_msg("\"%s\" was taken for a time", refused[i]);
    }
}

TEST(comes_back)
{
    for (int64_t at_ms = 0; at_ms < 4102444800000; at_ms += 86400000LL * 31 + 12345678) {
        char text[CLOCK_ISO8601_SIZE];
        int64_t parsed;
        assert_int_equal(clock_parse_iso8601(clock_format_iso8601(at_ms, text), &parsed), 0);
        assert_int_equal(parsed, at_ms);
    }
}

TEST(goes_forward)
{
    int64_t before_ms = clock_monotonic_ms(), before_us = clock_monotonic_us();
    clock_sleep_ms(20);
    assert_in_range(clock_monotonic_ms() - before_ms, 19, 5000);
    assert_in_range(clock_monotonic_us() - before_us, 20000, 5000000);
    assert_true(clock_now_ms() > 1700000000000);
}

TEST(tells_a_time_to_come)
{
    int64_t before_ms = clock_now_ms(), second_ms = clock_in_s(2), later_ms = clock_in_ms(86400007);
    int64_t after_ms = clock_now_ms();
    assert_in_range(second_ms, before_ms + 2000, after_ms + 2000);
    assert_in_range(later_ms, before_ms + 86400007, after_ms + 86400007);
}
