/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit/unit.h"

#include "base/mem.h"
#include "base/str.h"

TEST(compares)
{
    assert_true(str_equal("a", "a"));
    assert_true(str_equal(NULL, NULL));
    assert_false(str_equal("a", NULL));
    assert_false(str_equal(NULL, ""));
    assert_true(str_starts_with("sbx_1", "sbx_"));
    assert_false(str_starts_with("sb", "sbx_"));
    assert_true(str_ends_with("0001-a.sql", ".sql"));
    assert_false(str_ends_with("sql", ".sql"));
    assert_true(str_ends_with("x", ""));
}

TEST(parses_plain_numbers_only)
{
    uint64_t value = 7;
    assert_int_equal(str_parse_u64("0", 0, 10, &value), 0);
    assert_int_equal(value, 0);
    assert_int_equal(str_parse_u64("18446744073709551615", 0, UINT64_MAX, &value), 0);
    assert_true(value == UINT64_MAX);

    value = 7;
    static const char *const refused[] = {
        "",
        " 1",
        "1 ",
        "+1",
        "-1",
        "01",
        "00",
        "1e3",
        "0x10",
        "1.0",
        "18446744073709551616",
        "99999999999999999999",
        "\xd9\xa1",
    };
    for (size_t i = 0; i < ARRAY_SIZE(refused); i++)
        if (str_parse_u64(refused[i], 0, UINT64_MAX, &value) != -1)
            fail_msg("\"%s\" was taken for a number", refused[i]);
    assert_int_equal(value, 7);
}

TEST(holds_numbers_to_their_bounds)
{
    uint64_t value;
    assert_int_equal(str_parse_u64("5", 5, 5, &value), 0);
    assert_int_equal(str_parse_u64("4", 5, 9, &value), -1);
    assert_int_equal(str_parse_u64("10", 5, 9, &value), -1);
}

TEST(finds_what_was_meant)
{
    static const char *const names[] = {"base_url", "key_file", "log_level", "log_format"};
    assert_string_equal(str_nearest("log_leve", names, 4), "log_level");
    assert_string_equal(str_nearest("keyfile", names, 4), "key_file");
    assert_string_equal(str_nearest("baseurl", names, 4), "base_url");
    assert_null(str_nearest("colour", names, 4));
    assert_null(str_nearest("x", names, 0));
    char endless[200];
    memset(endless, 'a', sizeof endless - 1);
    endless[sizeof endless - 1] = '\0';
    assert_null(str_nearest(endless, names, 4));
}

static bool utf8(const char *text)
{
    return str_is_utf8(text, strlen(text));
}

TEST(knows_utf8)
{
    assert_true(utf8(""));
    assert_true(utf8("plain"));
    assert_true(utf8("\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"));
    assert_true(utf8("\xf4\x8f\xbf\xbf"));
    assert_true(utf8("\xed\x9f\xbf"));
    assert_true(str_is_utf8("a\0b", 3));

    static const char *const refused[] = {
        "\x80",             /* a continuation alone */
        "\xc3",             /* cut */
        "\xe2\x82",         /* cut */
        "\xc0\xaf",         /* overlong '/' */
        "\xc1\xbf",         /* overlong */
        "\xe0\x80\xaf",     /* overlong */
        "\xf0\x80\x80\xaf", /* overlong */
        "\xed\xa0\x80",     /* a surrogate */
        "\xf4\x90\x80\x80", /* beyond U+10FFFF */
        "\xf5\x80\x80\x80", /* no such lead */
        "\xff",             /* never */
        "a\xe2\x28\xa1",    /* a wrong continuation */
    };
    for (size_t i = 0; i < ARRAY_SIZE(refused); i++)
        if (utf8(refused[i]))
            fail_msg("number %zu was taken for UTF-8", i);
}

TEST(knows_names)
{
    static const char *const good[] = {"a", "7", "web-1", "a_B-9"};
    static const char *const bad[] = {"", "-a", "_a", "a b", "a/b", "a.b", "\xc3\xa4", "abcdef"};
    for (size_t i = 0; i < ARRAY_SIZE(good); i++)
        assert_true(str_is_name(good[i], 5));
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
        assert_false(str_is_name(bad[i], 5));
    assert_false(str_is_name(NULL, 5));
}

TEST(cuts_between_characters)
{
    static const char text[] = "a\xc3\xa4\xe2\x82\xac";
    static const size_t sizes[] = {0, 1, 1, 3, 3, 3, 6, 6};
    for (size_t most = 0; most < ARRAY_SIZE(sizes); most++)
        assert_int_equal(str_cut(text, most), sizes[most]);
    /* Bytes that are no character are kept. */
    assert_int_equal(str_cut("\x80\x80\x80\x80\x80\x80", 5), 5);
}

TEST(mends_what_is_no_character)
{
    static const struct {
        const char *text;
        size_t most;
        const char *mended;
    } cases[] = {
        {"a\xc3\xa4\xe2\x82\xac", 9, "a\xc3\xa4\xe2\x82\xac"},
        {"a\xc3\xa4\xe2\x82\xac", 5, "a\xc3\xa4"},
        {"a\xc3: b\xc3\xa4", 9, "a?: b\xc3\xa4"},
        {"\xe2\x82", 9, "??"},
        {"a\xff", 9, "a?"},
        {"", 0, ""},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        autofree char *mended = str_mend(cases[i].text, cases[i].most);
        assert_string_equal(mended, cases[i].mended);
    }
}

TEST(cleans_paths)
{
    static const char *const cases[][2] = {
        {"a", "a"},
        {"/a//b/./c/", "a/b/c"},
        {"a/../b", "b"},
        {"../../a", "a"},
        {"a/b/../..", ""},
        {"..", ""},
        {"", ""},
        {"a/...", "a/..."},
        {"a/b/../c", "a/c"},
        {"./.a/..b", ".a/..b"},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        autofree char *path = xstrdup(cases[i][0]);
        str_clean_path(path);
        assert_string_equal(path, cases[i][1]);
    }
}
