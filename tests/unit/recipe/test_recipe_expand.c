/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit/unit.h"

#include "base/mem.h"
#include "recipe/recipe_expand.h"

TEST(expands_as_dockerfiles_do)
{
    static const struct {
        const char *text, *expected;
    } cases[] = {
        {"", ""},
        {"plain", "plain"},
        {"${PATH}:/x", "/bin:/x"},
        {"$PATH:/x", "/bin:/x"},
        {"$PATHS", ""},
        {"<${NONE}>", "<>"},
        {"${NONE:-other}", "other"},
        {"${PATH:-other}", "/bin"},
        {"${NONE:-${A}/${B:-c}}", "1/c"},
        {"${PATH:+given}|${NONE:+given}", "given|"},
        {"\\$PATH \\n \\", "$PATH \\n \\"},
        {"$(id) `id` $5 $ ${} ${5} ${A", "$(id) `id` $5 $ ${} ${5} ${A"},
        {"${A:?no}", "${A:?no}"},
        {"$A$A_$A", "11"},
    };
    json_auto_t *envs = json_pack("{s:s, s:s}", "PATH", "/bin", "A", "1");
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        autofree char *made = recipe_expand(cases[i].text, envs);
        assert_string_equal(made, cases[i].expected);
    }
}
