/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit/unit.h"

#include "base/buffer.h"
#include "base/json_read.h"
#include "base/mem.h"

static void repeat(struct buffer *text, const char *piece, size_t times)
{
    for (size_t i = 0; i < times; i++)
        buffer_append_string(text, piece);
}

/* "[" and times - 1 commas: times values and the array. */
TEST(test_values_are_counted)
{
    static const char *const pieces[] = {"{},", "[],", "\"\",", "0,"};
    for (size_t i = 0; i < ARRAY_SIZE(pieces); i++) {
        buffer_auto text = BUFFER_INIT(1 << 24);
        buffer_append_char(&text, '[');
        repeat(&text, pieces[i], JSON_VALUES_MAX);
        buffer_append_string(&text, "0]");
        assert_int_equal(json_size_of(text.data, text.size), JSON_TOO_MANY_VALUES);
        assert_null(json_read(text.data, text.size, 0, NULL));
    }
}

TEST(test_the_largest_document_fits)
{
    buffer_auto text = BUFFER_INIT(1 << 24);
    buffer_append_char(&text, '[');
    repeat(&text, "0,", JSON_VALUES_MAX - 2);
    buffer_append_string(&text, "0]");
    assert_int_equal(json_size_of(text.data, text.size), JSON_FITS);
    json_auto_t *json = json_read(text.data, text.size, 0, NULL);
    assert_int_equal(json_array_size(json), JSON_VALUES_MAX - 1);
}

TEST(test_depth_is_counted)
{
    for (size_t depth = JSON_DEPTH_MAX; depth <= JSON_DEPTH_MAX + 1; depth++) {
        buffer_auto text = BUFFER_INIT(4096);
        repeat(&text, "[", depth);
        repeat(&text, "]", depth);
        assert_int_equal(json_size_of(text.data, text.size),
                         depth > JSON_DEPTH_MAX ? JSON_TOO_DEEP : JSON_FITS);
    }
}

TEST(test_strings_do_not_count)
{
    buffer_auto text = BUFFER_INIT(1 << 24);
    buffer_append_string(&text, "[\"\\\"");
    repeat(&text, "{,[", JSON_VALUES_MAX);
    buffer_append_string(&text, "\"]");
    json_auto_t *json = json_read(text.data, text.size, 0, NULL);
    assert_int_equal(json_array_size(json), 1);
}

TEST(test_what_is_no_json)
{
    assert_null(json_read(NULL, 0, 0, NULL));
    assert_null(json_read("]]]]", 4, 0, NULL));
    assert_null(json_read("[\"\\", 3, 0, NULL));
}
