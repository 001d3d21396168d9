/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit/unit.h"

#include "agent/files/files_range.h"

#define SIZE 1000

/* 1994-11-06 08:49:37 */
#define MODIFIED_AT_S 784111777

static const struct file_version version = {
    .etag = "\"tag\"", .modified_at_s = MODIFIED_AT_S, .size = SIZE};

TEST(selects_ranges)
{
    static const struct {
        const char *range;
        int status;
        uint64_t first, length;
    } cases[] = {
        {"bytes=0-0", 206, 0, 1},       {"bytes=0-999", 206, 0, SIZE},
        {"bytes=0-1000", 206, 0, SIZE}, {"bytes=999-", 206, 999, 1},
        {"Bytes= 5-9 ", 206, 5, 5},     {"bytes=-1", 206, 999, 1},
        {"bytes=-5000", 206, 0, SIZE},  {"bytes=10-99999999999999999999999999", 206, 10, 990},
        {"bytes=1000-", 416, 0, SIZE},  {"bytes=99999999999999999999999999-", 416, 0, SIZE},
        {"bytes=-0", 416, 0, SIZE},     {"bytes=-", 200, 0, SIZE},
        {"bytes=", 200, 0, SIZE},       {"bytes=9-5", 200, 0, SIZE},
        {"bytes=1-2,x", 200, 0, SIZE},  {"bytes=1-2x", 200, 0, SIZE},
        {"bytes=+1-2", 200, 0, SIZE},   {"bytes=--1", 200, 0, SIZE},
        {"items=1-2", 200, 0, SIZE},    {"", 200, 0, SIZE},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct file_conditions conditions = {.range = cases[i].range};
        struct file_parts parts;
        assert_int_equal(files_select(&conditions, &version, &parts), cases[i].status);
        if (cases[i].status == 416)
            continue;
        assert_int_equal(parts.count, 1);
        assert_int_equal(parts.items[0].first, cases[i].first);
        assert_int_equal(parts.items[0].length, cases[i].length);
    }
}

TEST(selects_several_ranges)
{
    static const struct {
        const char *range;
        int status;
        struct file_parts parts;
    } cases[] = {
        {"bytes=1-2,4-4", 206, {2, {{1, 2}, {4, 1}}}},
        {"bytes=990-, 0-0 ,,-1,", 206, {3, {{990, 10}, {0, 1}, {999, 1}}}},
        {"bytes=5000-,7-8", 206, {1, {{7, 2}}}},
        {"bytes=5000-,-0,1000-1001", 416, {.count = 0}},
        {"bytes=1-2,lines", 200, {1, {{0, SIZE}}}},
        /* More than the whole. */
        {"bytes=0-,0-0", 200, {1, {{0, SIZE}}}},
        {"bytes=0-1,0-1,0-1,0-1,0-1,0-1,0-1,0-1,0-1,0-1,0-1,0-1,0-1,0-1,0-1,0-1,0-1",
         200,
         {1, {{0, SIZE}}}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct file_conditions conditions = {.range = cases[i].range};
        struct file_parts parts;
        assert_int_equal(files_select(&conditions, &version, &parts), cases[i].status);
        if (cases[i].status == 416)
            continue;
        assert_int_equal(parts.count, cases[i].parts.count);
        assert_memory_equal(parts.items, cases[i].parts.items, parts.count * sizeof parts.items[0]);
    }
}

TEST(ignores_ranges_of_nothing)
{
    const struct file_version empty = {.etag = "\"e\"", .modified_at_s = 0, .size = 0};
    const struct file_conditions conditions = {.range = "bytes=0-"};
    struct file_parts parts;
    assert_int_equal(files_select(&conditions, &empty, &parts), 200);
    assert_int_equal(parts.items[0].length, 0);
}

TEST(judges_conditions)
{
    static const char *const before = "Sun, 06 Nov 1994 08:49:36 GMT";
    static const char *const exact = "Sun, 06 Nov 1994 08:49:37 GMT";
    static const struct {
        struct file_conditions conditions;
        int status;
    } cases[] = {
        {{.if_none_match = "\"tag\""}, 304},
        {{.if_none_match = "W/\"tag\""}, 304},
        {{.if_none_match = "\"a\", \"tag\""}, 304},
        {{.if_none_match = "*"}, 304},
        {{.if_none_match = "\"ta\", \"tagg\", tag"}, 200},
        {{.if_none_match = "\"tag"}, 200},
        {{.if_match = "\"tag\""}, 200},
        {{.if_match = "W/\"tag\""}, 412},
        {{.if_match = "*"}, 200},
        {{.if_match = ""}, 412},
    };
    struct file_parts parts;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_int_equal(files_select(&cases[i].conditions, &version, &parts), cases[i].status);
    const struct file_conditions since = {.if_modified_since = exact};
    const struct file_conditions earlier = {.if_modified_since = before};
    const struct file_conditions unmodified = {.if_unmodified_since = before};
    const struct file_conditions both = {.if_none_match = "\"x\"", .if_modified_since = exact};
    const struct file_conditions nonsense = {.if_modified_since = "yesterday"};
    assert_int_equal(files_select(&since, &version, &parts), 304);
    assert_int_equal(files_select(&earlier, &version, &parts), 200);
    assert_int_equal(files_select(&unmodified, &version, &parts), 412);
    assert_int_equal(files_select(&both, &version, &parts), 200);
    assert_int_equal(files_select(&nonsense, &version, &parts), 200);
}

TEST(honours_if_range)
{
    static const struct {
        const char *if_range;
        int status;
    } cases[] = {
        {"\"tag\"", 206},
        {"\"other\"", 200},
        {"W/\"tag\"", 200},
        {"Sun, 06 Nov 1994 08:49:37 GMT", 206},
        {"Sun, 06 Nov 1994 08:49:38 GMT", 200},
        {"", 200},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct file_conditions conditions = {.range = "bytes=0-1",
                                                   .if_range = cases[i].if_range};
        struct file_parts parts;
        assert_int_equal(files_select(&conditions, &version, &parts), cases[i].status);
    }
}

TEST(knows_dates)
{
    char text[FILES_DATE_SIZE];
    time_t at_s;
    assert_string_equal(files_format_date(MODIFIED_AT_S, text), "Sun, 06 Nov 1994 08:49:37 GMT");
    assert_string_equal(files_format_date(0, text), "Thu, 01 Jan 1970 00:00:00 GMT");
    assert_string_equal(files_format_date(INT64_MAX, text), "Thu, 01 Jan 1970 00:00:00 GMT");
    assert_int_equal(files_parse_date("Sunday, 06-Nov-94 08:49:37 GMT", &at_s), 0);
    assert_int_equal(at_s, MODIFIED_AT_S);
    assert_int_equal(files_parse_date("Sun Nov  6 08:49:37 1994", &at_s), 0);
    assert_int_equal(at_s, MODIFIED_AT_S);
    assert_int_equal(files_parse_date("Sun, 06 Nov 1994 08:49:37 GMT+1", &at_s), -1);
    assert_int_equal(files_parse_date("", &at_s), -1);
}
