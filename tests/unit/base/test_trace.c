/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit/unit.h"

#include "base/mem.h"
#include "base/trace.h"

#define ID "4bf92f3577b34da6a3ce929d0e0e4736"

TEST(reads_what_the_standard_has)
{
    static const char *const good[] = {
        "00-" ID "-00f067aa0ba902b7-01",
        "00-" ID "-00f067aa0ba902b7-00",
        "01-" ID "-00f067aa0ba902b7-ff",
        "cc-" ID "-00f067aa0ba902b7-01-what-comes-later",
    };
    char id[TRACE_ID_SIZE];
    for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
        assert_true(trace_id_read(good[i], id));
        assert_string_equal(id, ID);
    }
}

TEST(takes_nothing_else)
{
    static const char *const bad[] = {
        NULL,
        "",
        "00",
        "00-",
        "00-" ID,
        "00-" ID "-",
        "00-" ID "-00f067aa0ba902b7",
        "00-" ID "-00f067aa0ba902b7-",
        "00-" ID "-00f067aa0ba902b7-1",
        "00-" ID "-00f067aa0ba902b7-01-more",
        "00-" ID "-00f067aa0ba902b7-011",
        "cc-" ID "-00f067aa0ba902b7-01.more",
        "ff-" ID "-00f067aa0ba902b7-01",
        "0-" ID "-00f067aa0ba902b7-01",
        "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
        "00-" ID "-0000000000000000-01",
        "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
        "00-" ID "a-00f067aa0ba902b7-01",
        "00-4bf92f3577b34da6a3ce929d0e0e473\"-00f067aa0ba902b7-01",
        " 00-" ID "-00f067aa0ba902b7-01",
    };
    char id[TRACE_ID_SIZE];
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
        assert_false(trace_id_read(bad[i], id));
}

TEST(goes_on_until_its_end)
{
    assert_null(trace_id());
    assert_null(trace_header());
    trace_begin("00-" ID "-00f067aa0ba902b7-01");
    assert_string_equal(trace_id(), ID);
    assert_string_equal(trace_header(), "traceparent: 00-" ID "-00f067aa0ba902b7-01");
    trace_begin("cc-" ID "-00f067aa0ba902b7-00-what-comes-later");
    assert_string_equal(trace_header(), "traceparent: 00-" ID "-00f067aa0ba902b7-00");
    trace_begin("none");
    assert_null(trace_id());
    trace_begin("00-" ID "-00f067aa0ba902b7-01");
    trace_end();
    assert_null(trace_header());
}
