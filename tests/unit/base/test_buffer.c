/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit/unit.h"

#include "base/buffer.h"
#include "base/cleanup.h"

TEST(holds_up_to_its_maximum)
{
    buffer_auto buffer = BUFFER_INIT(10);
    assert_int_equal(buffer_append(&buffer, "0123456789", 10), 0);
    assert_false(buffer_overflowed(&buffer));
    assert_string_equal(buffer_string(&buffer), "0123456789");
    assert_int_equal(buffer_append_char(&buffer, 'x'), -1);
    assert_true(buffer_overflowed(&buffer));
    assert_string_equal(buffer_string(&buffer), "0123456789");
}

TEST(stays_failed_until_cleared)
{
    buffer_auto buffer = BUFFER_INIT(8);
    buffer_append_string(&buffer, "12345");
    assert_int_equal(buffer_append_string(&buffer, "6789"), -1);
    /* This one would fit; a text with a hole must not come to be. */
    assert_int_equal(buffer_append_string(&buffer, "6"), -1);
    assert_string_equal(buffer_string(&buffer), "12345");
    buffer_clear(&buffer);
    assert_string_equal(buffer_string(&buffer), "");
    assert_int_equal(buffer_append_string(&buffer, "6"), 0);
}

TEST(appends_nothing_of_what_is_too_long)
{
    buffer_auto buffer = BUFFER_INIT(6);
    buffer_append_string(&buffer, "abc");
    assert_int_equal(buffer_printf(&buffer, "%s-%d", "de", 42), -1);
    assert_string_equal(buffer_string(&buffer), "abc");
    assert_null(buffer_reserve(&buffer, SIZE_MAX));
}

TEST(prints_at_its_end)
{
    buffer_auto buffer = BUFFER_INIT(100000);
    for (int i = 0; i < 1000; i++)
        assert_int_equal(buffer_printf(&buffer, "%d,", i), 0);
    assert_int_equal(buffer.size, 10 * 2 + 90 * 3 + 900 * 4);
    assert_memory_equal(buffer.data, "0,1,2,3,", 8);
    assert_string_equal(buffer.data + buffer.size - 8, "998,999,");
}

TEST(is_a_string_before_anything_is_in_it)
{
    buffer_auto buffer = BUFFER_INIT(0);
    assert_string_equal(buffer_string(&buffer), "");
    assert_int_equal(buffer_append(&buffer, NULL, 0), 0);
    assert_string_equal(buffer_string(&buffer), "");
    assert_int_equal(buffer_append_char(&buffer, 'a'), -1);
}

TEST(consumes_from_its_front)
{
    buffer_auto buffer = BUFFER_INIT(100);
    buffer_consume(&buffer, 5);
    buffer_append_string(&buffer, "hello world");
    buffer_consume(&buffer, 6);
    assert_string_equal(buffer_string(&buffer), "world");
    buffer_consume(&buffer, 500);
    assert_int_equal(buffer.size, 0);
    assert_string_equal(buffer_string(&buffer), "");
}

TEST(commits_what_was_reserved)
{
    buffer_auto buffer = BUFFER_INIT(100);
    buffer_append_string(&buffer, "ab");
    char *room = buffer_reserve(&buffer, 50);
    memcpy(room, "cdef", 4);
    buffer_commit(&buffer, 4);
    assert_string_equal(buffer_string(&buffer), "abcdef");
}

TEST(hands_its_contents_over)
{
    buffer_auto buffer = BUFFER_INIT(100);
    autofree char *nothing = buffer_steal(&buffer);
    assert_string_equal(nothing, "");
    buffer_append_string(&buffer, "mine");
    autofree char *text = buffer_steal(&buffer);
    assert_string_equal(text, "mine");
    assert_int_equal(buffer.size, 0);
    buffer_append_string(&buffer, "again");
    assert_string_equal(buffer_string(&buffer), "again");
}

TEST(is_empty_after_a_wipe)
{
    struct buffer buffer = BUFFER_INIT(100);
    buffer_wipe(&buffer);
    buffer_append_string(&buffer, "secret");
    buffer_wipe(&buffer);
    assert_null(buffer.data);
    assert_int_equal(buffer.size, 0);
    assert_int_equal(buffer.max, 100);
}
