/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The variables and the user that the steps of a recipe set. */
#include "unit/unit.h"

#include "base/mem.h"
#include "recipe/recipe.h"
#include "recipe/recipe_setting.h"

static void settings_of(json_t *steps, struct recipe_setting *setting)
{
    json_auto_t *recipe = json_pack("{s:O}", "steps", steps);
    json_auto_t *defaults = json_pack("{s:{s:s}}", "envs", "BASE", "b");
    char path[] = "/bin";
    const struct recipe_place place = {.recipe = recipe, .defaults = defaults, .path = path};
    recipe_setting_at(&place, recipe_step_count(&place), setting);
    setting->user = NULL; /* borrowed from the defaults */
}

static const char *value_of(const struct recipe_setting *setting, const char *name)
{
    return json_string_value(json_object_get(setting->envs, name));
}

TEST(values_of_one_step_do_not_see_each_other)
{
    json_auto_t *steps = json_loads(
        "[{\"type\": \"env\", \"envs\": {\"A\": \"$PATH\"}, \"expand\": true},"
        " {\"type\": \"env\", \"envs\": {\"A\": \"$BASE\", \"B\": \"$A$A\", \"C\": \"$B\"},"
        "  \"expand\": true}, {\"type\": \"env\", \"envs\": {\"D\": \"$A\"}}]",
        0, NULL);
    struct recipe_setting setting;
    assert_non_null(steps);
    settings_of(steps, &setting);
    assert_false(setting.is_too_long);
    assert_string_equal(value_of(&setting, "A"), "b");
    assert_string_equal(value_of(&setting, "B"), "/bin/bin");
    assert_string_equal(value_of(&setting, "C"), "");
    assert_string_equal(value_of(&setting, "D"), "$A");
    assert_null(value_of(&setting, "PATH"));
    assert_int_equal(setting.env_bytes, strlen("BASE=b") + strlen("A=b") + strlen("B=/bin/bin") +
                                            strlen("C=") + strlen("D=$A") + 5);
    recipe_setting_deinit(&setting);
}

TEST(a_user_has_the_group_that_is_given)
{
    static const struct {
        const char *steps, *user;
    } cases[] = {
        {"[{\"type\": \"user\", \"user\": \"app\", \"group\": \"\"}]", "app"},
        {"[{\"type\": \"user\", \"user\": \"app\", \"group\": \"staff\"}]", "app:staff"},
        {"[{\"type\": \"user\", \"user\": \"user7\", \"number\": \"7\", \"group\": \"8\"}]",
         "user7:8"},
        {"[{\"type\": \"user\", \"user\": \"${BASE}:c\", \"open\": true}]", "b:c"},
        {"[{\"type\": \"user\", \"user\": \"a\", \"group\": \"c\"}, {\"type\": \"user\", \"user\": "
         "\"root\"}]",
         "root"},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        json_auto_t *steps = json_loads(cases[i].steps, 0, NULL);
        struct recipe_setting setting;
        assert_non_null(steps);
        settings_of(steps, &setting);
        assert_string_equal(setting.own_user, cases[i].user);
        recipe_setting_deinit(&setting);
    }
}

/* A step may have 256 variables, and each may double the longest one. */
TEST(variables_that_grow_end_at_the_bound)
{
    json_auto_t *steps = json_array();
    struct recipe_setting setting;
    size_t bytes = 0;
    const char *name;
    json_t *value;
    for (unsigned step = 0; step < RECIPE_STEPS_MAX; step++) {
        json_t *envs = json_object();
        for (unsigned i = 0; i < 256; i++) {
            autofree char *fresh = xasprintf("v%u_%u", step, i);
            json_object_set_new(envs, fresh, json_string("$V$V"));
        }
        json_object_set_new(envs, "V", json_string(step ? "$V$V" : "0123456789"));
        json_array_append_new(
            steps, json_pack("{s:s, s:o, s:b}", "type", "env", "envs", envs, "expand", 1));
    }
    settings_of(steps, &setting);
    assert_true(setting.is_too_long);
    json_object_foreach (setting.envs, name, value)
        bytes += strlen(name) + json_string_length(value) + 2;
    assert_true(bytes < 2 * RECIPE_ENVS_MAX);
    recipe_setting_deinit(&setting);
}
