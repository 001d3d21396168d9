/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit/unit.h"

#include "base/media_type.h"

TEST(compares_types)
{
    assert_true(media_type_is("application/json", "application/json"));
    assert_true(media_type_is("Application/JSON ; x=y", "application/json"));
    assert_false(media_type_is("application/json, text/html", "application/json"));
    assert_false(media_type_is("application/json x", "application/json"));
    assert_false(media_type_is("application/jsonl", "application/json"));
    assert_false(media_type_is("", "application/json"));
    assert_false(media_type_is(NULL, "application/json"));
}

TEST(knows_utf8)
{
    static const char *const good[] = {"application/json", "a/b; charset=utf-8",
                                       "a/b;charset=\"UTF8\"", "a/b; x=y;  Charset=Utf-8 ; z", ""};
    static const char *const bad[] = {"a/b; charset=latin1", "a/b; x=y; charset=utf-16",
                                      "a/b; charset="};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        assert_true(media_type_is_utf8(good[i]));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(media_type_is_utf8(bad[i]));
    assert_true(media_type_is_utf8(NULL));
}

TEST(reads_qualities)
{
    static const char type[] = "text/event-stream";
    assert_int_equal(media_type_quality("text/event-stream", type), 1000);
    assert_int_equal(media_type_quality("a/b, Text/Event-Stream; q=0.25", type), 250);
    assert_int_equal(media_type_quality("text/event-stream;q=0", type), 0);
    assert_int_equal(media_type_quality("text/event-stream;level=1;q=0.5, */*", type), 500);
    assert_int_equal(media_type_quality("text/event-streams, text/*, */*", type), 0);
    assert_int_equal(media_type_quality("", type), 0);
    assert_int_equal(media_type_quality(NULL, type), 0);
}
