/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The paths that the patterns of COPY fit. */
#include "unit/unit.h"

#include <regex.h>

#include "base/mem.h"
#include "recipe/recipe_copy.h"

static bool fits(const char *pattern, bool deep, const char *path)
{
    regex_t compiled;
    autofree char *regex = recipe_copy_regex(pattern, deep);
    autofree char *whole = xasprintf("^(%s)$", regex); /* as grep -x */
    if (regcomp(&compiled, whole, REG_EXTENDED | REG_NOSUB) != 0)
        fail_msg("%s becomes %s", pattern, regex);
    bool result = regexec(&compiled, path, 0, NULL, 0) == 0;
    regfree(&compiled);
    return result;
}

TEST(patterns_fit_paths)
{
    static const struct {
        const char *pattern;
        bool deep;
        const char *path;
        bool fits;
    } cases[] = {
        {"*.txt", false, "a.txt", true},     {"*.txt", false, ".a.txt", true},
        {"*.txt", false, "d/a.txt", false},  {"*.txt", false, "atxt", false},
        {"**/a", false, "d/e/a", false},     {"**/a", false, "d/a", true},
        {"**/a", true, "d/e/a", true},       {"**/a", true, "a", true},
        {"**/a", true, "ba", false},         {"d/**", true, "d/e/a", true},
        {"d/**", true, "da", false},         {"**.log", true, "d/a.log", true},
        {"d/**/e", true, "d/e", true},       {"d/**/e", true, "d/f/e", true},
        {"d/**/e", true, "d/fe", false},     {"./d//?/", false, "d/a", true},
        {"d/?", false, "d//", false},        {"[a-c]x[^1]", false, "bx2", true},
        {"[a-c]x[!1]", false, "bx1", false}, {"[]]", false, "]", true},
        {"[id", false, "[id", true},         {"a\\*b", false, "a*b", true},
        {"a\\*b", false, "acb", false},      {"a+(b)|{c}^$.", false, "a+(b)|{c}^$.", true},
        {".", true, "any/path", true},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        if (fits(cases[i].pattern, cases[i].deep, cases[i].path) != cases[i].fits)
            fail_msg("case %zu: %s, %s", i, cases[i].pattern, cases[i].path);
}

TEST(patterns_are_known)
{
    assert_true(recipe_copy_is_pattern("a/*"));
    assert_true(recipe_copy_is_pattern("a[b"));
    assert_false(recipe_copy_is_pattern("a/b.c"));
}
