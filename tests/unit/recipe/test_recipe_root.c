/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The roots of the stages that begin with the template of the sandbox. */
#include "unit/unit.h"

#include "base/mem.h"
#include "recipe/recipe_image.h"
#include "recipe/recipe_root.h"

static char nothing[] = "";
static const struct settings settings = {.image_registry_default = nothing,
                                         .image_registry_mirrors = nothing,
                                         .image_registries_http = nothing};

/* Return the folders that the step makes for these bases: t is the template. The first one gets the
 * root itself. "": there is no such step. */
static char *folders_of(const char *const names[], size_t count)
{
    struct recipe_image bases[4];
    json_auto_t *recipe = json_pack("{s:[]}", "steps");
    json_auto_t *whole = NULL;
    error_auto err = NULL;
    struct buffer folders = BUFFER_INIT(1024);
    for (size_t i = 0; i < count; i++)
        bases[i] = (struct recipe_image){.name = names[i], .is_template = !strcmp(names[i], "t")};
    assert_ok(recipe_image_add_bases(&settings, bases, count, recipe, &whole, &err));
    const json_t *steps = json_object_get(whole, "steps");
    const json_t *last = json_array_get(steps, json_array_size(steps) - 1);
    if (!strcmp(recipe_text(last, "type"), RECIPE_TEMPLATE_STEP)) {
        json_auto_t *args = recipe_root_copies(last);
        for (size_t i = 2; i < json_array_size(args); i++)
            buffer_printf(&folders, "%s'%s'", i > 2 ? " " : "",
                          json_string_value(json_array_get(args, i)));
    }
    return buffer_steal(&folders);
}

TEST(the_first_stage_of_the_template_gets_its_root)
{
    static const struct {
        const char *names[4];
        const char *folders;
    } cases[] = {
        {{"t", "r.example/a"}, ""},
        {{"t", "t"}, "'' '/.sandlot-image-1'"},
        {{"t", "r.example/a", "t", "t"}, "'' '/.sandlot-image-2' '/.sandlot-image-3'"},
        {{"r.example/a", "t"}, "'/.sandlot-image-1'"},
        {{"r.example/a", "t", "r.example/b", "t"}, "'/.sandlot-image-1' '/.sandlot-image-3'"},
        {{"r.example/a", "r.example/b"}, ""},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        size_t count = 0;
        while (count < 4 && cases[i].names[count])
            count++;
        autofree char *folders = folders_of(cases[i].names, count);
        assert_string_equal(folders, cases[i].folders);
    }
}

/* Commands of Dockerfiles may also need the user of sandboxes, who is then there from the start. */
TEST(a_dockerfile_that_adds_our_number_begins_without_our_user)
{
    static const struct {
        const char *steps;
        bool without;
    } cases[] = {
        {"[]", false},
        {"[{\"type\": \"run\", \"arguments\": [\"sh\", \"-c\", \"chown 1000 a\"], \"line\": 2}]",
         false},
        {"[{\"type\": \"run\", \"arguments\": [\"sh\", \"groupadd a; usermod -aG a user\"], "
         "\"line\": 2}]",
         false},
        {"[{\"type\": \"run\", \"arguments\": [\"sh\", \"-c\", \"groupadd --gid 1000 rails\"],"
         " \"variables\": {}, \"line\": 3}]",
         true},
        {"[{\"type\": \"run\", \"arguments\": [\"adduser\", \"-u\", \"1000\", \"app\"], \"line\": "
         "2}]",
         true},
        {"[{\"type\": \"run\", \"arguments\": [\"useradd -u $ID\"], \"variables\": {\"ID\": "
         "\"1000\"},"
         " \"line\": 2}]",
         true},
        {"[{\"type\": \"env\", \"envs\": {\"ID\": \"1000\"}, \"line\": 2},"
         " {\"type\": \"run\", \"arguments\": [\"addgroup -g $ID a\"], \"line\": 3}]",
         true},
        {"[{\"type\": \"run\", \"arguments\": [\"adduser coder\"], \"line\": 2},"
         " {\"type\": \"user\", \"user\": \"user1000\", \"number\": \"1000\", \"line\": 3}]",
         true},
        {"[{\"type\": \"run\", \"arguments\": [\"useradd app\"], \"line\": 2},"
         " {\"type\": \"copy\", \"user\": \"1000:1000\", \"line\": 3}]",
         true},
        {"[{\"type\": \"run\", \"arguments\": [\"useradd app\"], \"line\": 1000},"
         " {\"type\": \"copy\", \"files\": \"1000\", \"line\": 3}]",
         false},
        {"[{\"type\": \"run\", \"command\": \"useradd -u 1000 app\"}]", false},
    };
    static const struct recipe_image image = {.name = "r.example/a"};
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        json_auto_t *recipe = json_pack("{s:o}", "steps", json_loads(cases[i].steps, 0, NULL));
        json_auto_t *whole = NULL;
        error_auto err = NULL;
        assert_ok(recipe_image_add(&settings, &image, recipe, &whole, &err));
        const json_t *first = json_array_get(json_object_get(whole, "steps"), 0);
        if (json_is_true(json_object_get(first, RECIPE_WITHOUT_USER)) != cases[i].without)
            fail_msg("case %zu", i);
    }
}
