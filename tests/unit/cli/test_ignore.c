/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit/unit.h"

#include "base/buffer.h"
#include "base/mem.h"
#include "cli/ignore.h"

TEST(ignores_paths)
{
    static const struct {
        const char *patterns, *path;
        bool ignored;
    } cases[] = {
        {"", "a", false},
        {"# a\n\n  \n", "a", false},
        {"a", "a", true},
        {"a", "b/a", false},
        {"/a/", "a", true},
        {" a \r\n", "a", true},
        {"./a/../b//c/.", "b/c", true},
        {"a", "a/b/c", true},
        {"a/b", "a/b/c", true},
        {"a/b", "a", false},
        {"*.log", "x.log", true},
        {"*.log", "d/x.log", false},
        {"*/*.log", "d/x.log", true},
        {"**/*.log", "x.log", true},
        {"**/*.log", "d/e/x.log", true},
        {"**.log", "x.log", true},
        {"**.log", "d/e/x.log", true},
        {"**.log", "d/x.txt", false},
        {"d/**x", "d/e/f/ax", true},
        {"d/**x", "e/ax", false},
        {"a/**/z", "a/z", true},
        {"a/**/z", "a/b/c/z", true},
        {"a/**", "a/b", true},
        {"a/**", "a", false},
        {"**", "a", true},
        {"?.c", "a.c", true},
        {"[a-c]x", "bx", true},
        {"[^a]x", "ax", false},
        {"*\n!a", "a", false},
        {"*\n!a", "b", true},
        {"!a\n*", "a", true},
        {"d\n!d/keep", "d/keep", false},
        {"d\n!d/keep", "d/other", true},
        {"..", "a", false},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct ignore ignore;
        error_auto err = NULL;
        assert_ok(ignore_read(&ignore, cases[i].patterns, &err));
        if (ignore_has(&ignore, cases[i].path) != cases[i].ignored)
            fail_msg("%s %s %s", cases[i].patterns,
                     cases[i].ignored ? "does not ignore" : "ignores", cases[i].path);
        ignore_deinit(&ignore);
    }
}

TEST(is_bounded)
{
    struct buffer text = BUFFER_INIT(1 << 20);
    struct ignore ignore;
    error_auto err = NULL;
    for (int i = 0; i <= IGNORE_PATTERNS_MAX; i++)
        buffer_append_string(&text, "a\n");
    assert_fails(ignore_read(&ignore, buffer_string(&text), &err), ERR_INVALID_REQUEST);
    ignore_deinit(&ignore);
    error_clear(&err);
    buffer_deinit(&text);
    /* Very many ways to fit: the comparison ends all the same. */
    assert_ok(ignore_read(&ignore, "**/a/**/a/**/a/**/a/**/a/**/a/**/a/**/b", &err));
    assert_false(
        ignore_has(&ignore, "a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a"));
    ignore_deinit(&ignore);
}
