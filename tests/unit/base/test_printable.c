/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit/unit.h"

#include <locale.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/printable.h"

TEST(shows_text_of_all_languages)
{
    static const char *const texts[] = {"web", "Größe", "日本語", "שלום", "مرحبا", "🐘 ok"};
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        autofree char *shown = printable(texts[i], "");
        assert_string_equal(shown, texts[i]);
    }
}

TEST(replaces_characters_that_are_not_shown_as_themselves)
{
    static const struct {
        const char *text, *shown;
    } cases[] = {
        {"a\x1b[2Jb", "a?[2Jb"},
        {"a\x7f", "a?"},
        {"a\xc2\x9b"
         "31mb",
         "a?31mb"},                   /* CSI of C1 */
        {"a\xc2\x80\xc2\x9f", "a??"}, /* the ends of C1 */
        {"a\x9b"
         "b",
         "a?b"}, /* a byte of C1 that is not UTF-8 */
        {"a\xc2\xa0"
         "b",
         "a\xc2\xa0"
         "b"}, /* the first character after C1 */
        {"\xe2\x80\xae"
         "abc",
         "?abc"}, /* right to left */
        {"\xe2\x81\xa6"
         "abc",
         "?abc"}, /* isolate */
        {"we\xe2\x80\x8b"
         "b",
         "we?b"}, /* no width */
        {"we\xef\xbb\xbf"
         "b",
         "we?b"}, /* a byte order mark */
        {"we\xc2\xad"
         "b",
         "we?b"},                        /* a soft hyphen */
        {"web\xf3\xa0\x81\xa1", "web?"}, /* a tag */
        {"a\xe2\x80\xa8"
         "b",
         "a?b"}, /* a line separator */
        {"a\xed\xa0\x80"
         "b",
         "a?b"}, /* half of a pair */
        {"a\xf7\xbf\xbf\xbf"
         "b",
         "a?b"}, /* above the last character */
        {"a\xc0\x9b"
         "b",
         "a??b"}, /* overlong */
        {"a\r\nb\tc", "a?\nb\tc"},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        autofree char *shown = printable(cases[i].text, "\n\t");
        assert_string_equal(shown, cases[i].shown);
    }
}

TEST(measures_text_in_columns)
{
    size_t size;
    assert_non_null(setlocale(LC_CTYPE, "C.UTF-8"));
    assert_int_equal(printable_width("Größe"), 5);
    assert_int_equal(printable_width("名前"), 4);
    assert_int_equal(printable_fit("名前", 3, &size), 2);
    assert_int_equal(size, strlen("名"));
}

TEST(prints_lines_the_same_way)
{
    char text[64] = "";
    autofclose FILE *out = fmemopen(text, sizeof text, "w");
    printable_print(out, "sandlot: %s\n", "x\x1b]0;title\x07\ry");
    fflush(out);
    assert_string_equal(text, "sandlot: x?]0;title??y\n");
}
