/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit/unit.h"

#include <stdlib.h>

#include "base/prose.h"

static char *printed;
static size_t printed_size;

static FILE *begin(void)
{
    free(printed);
    printed = NULL;
    FILE *out = open_memstream(&printed, &printed_size);
    assert_non_null(out);
    return out;
}

static void wrap(const char *lead, size_t column, size_t width, const char *text)
{
    FILE *out = begin();
    prose_wrap(out, lead, column, width, text);
    fclose(out);
}

static void row(const char *left, size_t width)
{
    FILE *out = begin();
    prose_row(out, left, 10, width, "create a user with a team");
    fclose(out);
}

static void roff(const char *text)
{
    FILE *out = begin();
    prose_roff(out, text);
    fclose(out);
}

static int clean_up(void **state)
{
    (void)state;
    free(printed);
    return 0;
}

TEST(lines_end_before_the_width)
{
    wrap("", 0, 9, "one two three");
    assert_string_equal(printed, "one two\nthree\n");
    wrap("# ", 2, 9, "one two three");
    assert_string_equal(printed, "one two\n# three\n");
    wrap("# ", 2, 8, "one two");
    assert_string_equal(printed, "one\n# two\n");
    wrap("", 0, 3, "a-long-word b");
    assert_string_equal(printed, "a-long-word\nb\n");
    wrap("", 0, PROSE_NO_WIDTH, "one two three");
    assert_string_equal(printed, "one two three\n");
    wrap("", 0, 3, "");
    assert_string_equal(printed, "\n");
}

TEST(rows_have_columns)
{
    row("user", PROSE_NO_WIDTH);
    assert_string_equal(printed, "  user    create a user with a team\n");
    row("user", 34);
    assert_string_equal(printed, "  user    create a user with a\n          team\n");
    row("a long name", PROSE_NO_WIDTH);
    assert_string_equal(printed, "  a long name create a user with a team\n");
    row("a long name", 40);
    assert_string_equal(printed, "  a long name\n          create a user with a team\n");
}

TEST(text_stands_below_its_row_where_the_terminal_is_narrow)
{
    row("user", 30);
    assert_string_equal(printed, "  user\n      create a user with a\n      team\n");
    row("user", 5);
    assert_non_null(strstr(printed, "  user\n      create\n      a\n"));
}

TEST(text_is_no_request_of_a_manual_page)
{
    roff(".Sh x");
    assert_string_equal(printed, "\\&.Sh x\n");
    roff("'a' is \\b");
    assert_string_equal(printed, "\\&'a' is \\eb\n");
    roff("sign-ins: --with-created, -d");
    assert_string_equal(printed, "sign-ins: \\-\\-with\\-created, \\-d\n");
}

TEST_GROUP(NULL, clean_up)
