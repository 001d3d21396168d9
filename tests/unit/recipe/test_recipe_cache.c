/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit/unit.h"

#include "base/error.h"
#include "base/mem.h"
#include "recipe/recipe_cache.h"
#include "recipe/recipe_row.h"

#define DIGEST "sha256:" ZEROS ZEROS ZEROS ZEROS
#define ZEROS  "0000000000000000"

static struct recipe_keys keys_of(const char *team, const char *base, const char *text)
{
    struct recipe_keys keys;
    error_auto err = NULL;
    json_auto_t *recipe = json_loads(text, 0, NULL);
    assert_non_null(recipe);
    assert_int_equal(recipe_keys_read(NULL, team, base, recipe, &keys, &err), 0);
    return keys;
}

#define STEPS(list)  "{\"steps\": [" list "]}"
#define RUN(command) "{\"type\": \"run\", \"command\": \"" command "\"}"

TEST(a_key_depends_on_all_before_it)
{
    struct recipe_keys keys = keys_of("tea_a", "tpv_a", STEPS(RUN("a") ", " RUN("b")));
    struct recipe_keys last = keys_of("tea_a", "tpv_a", STEPS(RUN("a") ", " RUN("c")));
    struct recipe_keys first = keys_of("tea_a", "tpv_a", STEPS(RUN("c") ", " RUN("b")));
    assert_int_equal(keys.known, 2);
    assert_string_equal(keys.at[1], last.at[1]);
    assert_string_not_equal(keys.at[2], last.at[2]);
    assert_string_not_equal(keys.at[1], first.at[1]);
    assert_string_not_equal(keys.at[2], first.at[2]);
    assert_string_not_equal(keys.at[1], keys.at[2]);
}

TEST(teams_and_bases_have_their_own)
{
    struct recipe_keys keys = keys_of("tea_a", "tpv_a", STEPS(RUN("a")));
    struct recipe_keys team = keys_of("tea_b", "tpv_a", STEPS(RUN("a")));
    struct recipe_keys base = keys_of("tea_a", "tpv_b", STEPS(RUN("a")));
    struct recipe_keys dockerfile =
        keys_of("tea_a", "tpv_a", "{\"config\": {}, \"steps\": [" RUN("a") "]}");
    assert_string_not_equal(keys.at[1], team.at[1]);
    assert_string_not_equal(keys.at[1], base.at[1]);
    assert_string_not_equal(keys.at[1], dockerfile.at[1]);
}

TEST(the_line_of_a_dockerfile_and_its_proxies_do_not_count)
{
    struct recipe_keys one =
        keys_of("tea_a", "tpv_a", STEPS("{\"type\": \"run\", \"command\": \"a\", \"line\": 2}"));
    struct recipe_keys two =
        keys_of("tea_a", "tpv_a",
                STEPS("{\"line\": 3, \"command\": \"a\", \"type\": \"run\", \"proxies\": "
                      "{\"HTTP_PROXY\": \"p\"}}"));
    assert_string_equal(one.at[1], two.at[1]);
}

TEST(an_image_needs_a_digest_and_no_login)
{
    static const struct {
        const char *step;
        unsigned known;
        bool lacks;
    } cases[] = {
        {"{\"type\": \"image\", \"reference\": \"latest\"}", 0, true},
        {"{\"type\": \"image\", \"reference\": \"" DIGEST "\"}", 2, true},
        {"{\"type\": \"image\", \"reference\": \"" DIGEST "\", \"layers\": []}", 2, false},
        {"{\"type\": \"image\", \"reference\": \"" DIGEST "\", \"user\": \"u\"}", 0, false},
        {"{\"type\": \"image\", \"reference\": \"latest\", \"user\": \"u\"}", 0, false},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        char text[512];
        snprintf(text, sizeof text, STEPS("%s, %s"), cases[i].step, RUN("a"));
        json_auto_t *step = json_loads(cases[i].step, 0, NULL);
        assert_int_equal(keys_of("tea_a", "tpv_a", text).known, cases[i].known);
        assert_int_equal(recipe_lacks_digests(step), cases[i].lacks);
    }
}

#define IMAGE(name, layers)                                                   \
    "{\"type\": \"image\", \"image\": \"" name "\", \"reference\": \"" DIGEST \
    "\", \"layers\": [" layers "]}"

TEST(layers_have_keys_without_the_image)
{
    static const struct {
        const char *team, *text, *digest;
        bool same;
    } cases[] = {
        {"tea_a", STEPS(IMAGE("one", "\"" DIGEST "\"")), DIGEST, true},
        {"tea_a", STEPS(IMAGE("two", "\"" DIGEST "\", \"other\"") ", " RUN("a")), DIGEST, true},
        {"tea_a", STEPS(IMAGE("one", "\"" DIGEST "\"")), "other", false},
        {"tea_b", STEPS(IMAGE("one", "\"" DIGEST "\"")), DIGEST, false},
        {"tea_a", STEPS("{\"type\": \"image\", \"reference\": \"" DIGEST "\", \"stage\": 0}"),
         DIGEST, false},
    };
    char first[RECIPE_KEY_SIZE] = "", key[RECIPE_KEY_SIZE];
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct recipe_keys keys = keys_of(cases[i].team, "tpv_a", cases[i].text);
        json_auto_t *recipe = json_loads(cases[i].text, 0, NULL);
        recipe_layers_key(&keys, recipe, 0, cases[i].digest, key);
        assert_int_equal(strlen(key), RECIPE_KEY_SIZE - 1);
        if (!i)
            memcpy(first, key, sizeof first);
        assert_int_equal(!strcmp(key, first), cases[i].same);
        assert_string_not_equal(key, keys.at[0]);
        assert_string_not_equal(key, keys.at[1]);
    }
}

TEST(the_layers_are_no_part_of_the_key_of_the_step)
{
    struct recipe_keys with = keys_of("tea_a", "tpv_a", STEPS(IMAGE("one", "\"" DIGEST "\"")));
    struct recipe_keys without =
        keys_of("tea_a", "tpv_a",
                STEPS("{\"type\": \"image\", \"image\": \"one\", \"reference\": \"" DIGEST "\"}"));
    assert_string_equal(with.at[1], without.at[1]);
}

TEST(the_key_of_the_result_has_all_that_decides)
{
    static const struct {
        const char *recipe;
        unsigned memory_mb;
        bool same;
    } cases[] = {
        {"{\"steps\": [" RUN("a") "], \"start_command\": \"s\", \"no_cache\": true}", 512, true},
        {"{\"steps\": [" RUN("a") "], \"start_command\": \"s\"}", 384, false},
        {"{\"steps\": [" RUN("a") "], \"start_command\": \"t\"}", 512, false},
        {"{\"steps\": [" RUN("b") "], \"start_command\": \"s\"}", 512, false},
        {"{\"steps\": [" RUN("a") "]}", 512, false},
    };
    char first[RECIPE_KEY_SIZE] = "";
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        char key[RECIPE_KEY_SIZE];
        const struct template_version version = {.cpu = 1, .memory_mb = cases[i].memory_mb};
        struct recipe_keys keys = keys_of("tea_a", "tpv_a", cases[i].recipe);
        json_auto_t *recipe = json_loads(cases[i].recipe, 0, NULL);
        recipe_result_key(&keys, recipe, &version, key);
        assert_int_equal(strlen(key), RECIPE_KEY_SIZE - 1);
        if (!i)
            memcpy(first, key, sizeof first);
        assert_int_equal(!strcmp(key, first), cases[i].same);
    }
}

TEST(an_unknown_step_leaves_the_result_unknown)
{
    const struct template_version version = {.cpu = 1, .memory_mb = 512};
    const char *text = STEPS("{\"type\": \"image\", \"reference\": \"latest\"}");
    struct recipe_keys keys = keys_of("tea_a", "tpv_a", text);
    json_auto_t *recipe = json_loads(text, 0, NULL);
    char key[RECIPE_KEY_SIZE];
    recipe_result_key(&keys, recipe, &version, key);
    assert_string_equal(key, "");
}

/* The digests of layers, which the service adds, do not count. */
TEST(keeps_recipes_of_a_size)
{
    static char text[RECIPE_KEPT_MAX + 1];
    memset(text, 'x', RECIPE_KEPT_MAX);
    json_auto_t *layers = json_pack("[s]", text);
    json_auto_t *image =
        json_pack("{s:{s:[{s:s, s:O}, {s:s, s:s%}]}}", "recipe", "steps", "type", "image", "layers",
                  layers, "type", "run", "command", text, (size_t)RECIPE_KEPT_MAX - 200);
    json_auto_t *large =
        json_pack("{s:{s:[{s:s, s:s}]}}", "recipe", "steps", "type", "run", "command", text);
    assert_true(recipe_may_be_kept(image));
    assert_false(recipe_may_be_kept(large));
    assert_false(recipe_may_be_kept(NULL));
}
