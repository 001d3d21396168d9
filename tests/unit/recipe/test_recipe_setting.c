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

/* As in Docker, ".." is resolved without the files. */
TEST(a_working_directory_is_clean)
{
    static const struct {
        const char *paths[3], *cwd;
    } cases[] = {
        {{"/a/"}, "/a"},
        {{"/a", "b/./c", "../d"}, "/a/b/d"},
        {{"/a", "../../b"}, "/b"},
        {{"/a//b/", ".."}, "/a"},
        {{"/"}, "/"},
        {{"..", "/", "."}, "/"},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        json_auto_t *steps = json_array();
        struct recipe_setting setting;
        for (size_t j = 0; j < 3 && cases[i].paths[j]; j++)
            json_array_append_new(
                steps, json_pack("{s:s, s:s}", "type", "workdir", "path", cases[i].paths[j]));
        settings_of(steps, &setting);
        assert_string_equal(setting.cwd, cases[i].cwd);
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

/* Check the commands of a Dockerfile in shell form, with the configuration of the base's image. */
static void assert_commands(const char *config, const char *image, const char *expected)
{
    json_auto_t *recipe =
        json_pack("{s:[], s:o}", "steps", RECIPE_CONFIG, json_loads(config, 0, NULL));
    json_auto_t *wanted = json_loads(expected, 0, NULL);
    struct recipe_place place = {
        .recipe = recipe, .defaults = json_pack("{s:o}", "image", json_loads(image, 0, NULL))};
    place.shell = recipe_setting_shell(place.defaults);
    recipe_setting_configure(&place, 0);
    const json_t *made = json_object_get(place.defaults, "image");
    assert_true(json_equal(json_object_get(made, "entrypoint"), json_array_get(wanted, 0)));
    assert_true(json_equal(json_object_get(made, "command"), json_array_get(wanted, 1)));
    assert_true(json_equal(json_object_get(made, "shell"), json_array_get(wanted, 2)));
    assert_null(json_object_get(made, DOCKERFILE_BASE_SHELL));
    json_decref(place.shell);
    json_decref(place.defaults);
}

TEST(the_shell_form_has_the_shell_of_the_base)
{
    static const char config[] = "{\"entrypoint\": [\"/bin/sh\", \"-c\", \"a\"], \"command\": "
                                 "[\"b\"], \"base_shell\": {\"entrypoint\": true}}";
    assert_commands(config, "{\"shell\": [\"/bin/bash\", \"-ec\"]}",
                    "[[\"/bin/bash\", \"-ec\", \"a\"], [\"b\"], [\"/bin/bash\", \"-ec\"]]");
    assert_commands(config, "{\"shell\": []}", "[[\"/bin/sh\", \"-c\", \"a\"], [\"b\"], []]");
    assert_commands(config, "{\"shell\": [1]}", "[[\"/bin/sh\", \"-c\", \"a\"], [\"b\"], [1]]");
    /* SHELL behind the command is for later Dockerfiles. */
    assert_commands("{\"entrypoint\": [\"/bin/sh\", \"-c\", \"a\"], \"command\": [], "
                    "\"shell\": [\"zsh\"], \"base_shell\": {\"entrypoint\": true}}",
                    "{\"shell\": [\"bash\"]}", "[[\"bash\", \"a\"], [], [\"zsh\"]]");
}

TEST(a_program_has_the_shell_at_its_place)
{
    json_auto_t *program = json_pack("[s, s, s, s]", "around", DOCKERFILE_USUAL_SHELL, "a");
    json_auto_t *shell = json_pack("[s, s, s]", "bash", "-e", "-c");
    json_auto_t *expected = json_pack("[s, s, s, s, s]", "around", "bash", "-e", "-c", "a");
    json_auto_t *same = json_copy(program);
    recipe_setting_put_shell(NULL, 1, same);
    assert_true(json_equal(same, program));
    recipe_setting_put_shell(shell, 1, program);
    assert_true(json_equal(program, expected));
}

TEST(a_health_check_has_the_last_shell)
{
    static const struct {
        const char *image, *command;
    } cases[] = {
        {"{\"health_check\": [\"CMD-SHELL\", \"a b\"]}", "a b"},
        {"{\"health_check\": [\"CMD-SHELL\", \"a b\"], \"shell\": [\"bash\", \"-c\"]}",
         "'bash' '-c' 'a b'"},
        {"{\"health_check\": [\"CMD\", \"a\"], \"shell\": [\"bash\", \"-c\"]}", "'a'"},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        json_auto_t *defaults = json_pack("{s:o}", "image", json_loads(cases[i].image, 0, NULL));
        const struct recipe_place place = {.defaults = defaults};
        recipe_setting_add_start(&place, defaults);
        assert_string_equal(json_string_value(json_object_get(
                                json_object_get(defaults, "start_health"), "command")),
                            cases[i].command);
    }
}

/* As in Docker: as root in "/", unless the image or a step says otherwise. */
TEST(the_command_of_an_image_has_its_place)
{
    static const struct {
        const char *defaults, *steps, *start;
    } cases[] = {
        {"{\"user\": \"user\", \"image\": {\"user\": \"\"}}", "[]",
         "{\"user\": \"root\", \"cwd\": \"/\"}"},
        {"{\"user\": \"user\", \"workdir\": \"/a\", \"image\": {\"user\": \"\"}}", "[]",
         "{\"user\": \"root\"}"},
        {"{\"user\": \"app\", \"image\": {\"user\": \"app\"}}", "[]", "{\"cwd\": \"/\"}"},
        {"{\"user\": \"app\", \"image\": {\"user\": \"\"}}", "[]", "{\"cwd\": \"/\"}"},
        {"{\"user\": \"user\", \"image\": {\"user\": \"\"}}",
         "[{\"type\": \"user\", \"user\": \"user\"}]", "{\"cwd\": \"/\"}"},
        {"{\"user\": \"user\", \"workdir\": \"/a\", \"image\": {\"user\": \"user:x\"}}", "[]",
         "null"},
        {"{\"user\": \"user\", \"image\": {}}", "[]", "null"},
        {"{\"user\": \"user\"}", "[]", "null"},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        json_auto_t *defaults = json_loads(cases[i].defaults, 0, NULL);
        json_auto_t *recipe = json_pack("{s:o}", "steps", json_loads(cases[i].steps, 0, NULL));
        json_auto_t *wanted = json_loads(cases[i].start, JSON_DECODE_ANY, NULL);
        const struct recipe_place place = {.recipe = recipe, .defaults = defaults};
        recipe_setting_add_place(&place, defaults);
        const json_t *made = json_object_get(defaults, "start_place");
        if (json_is_null(wanted) ? made != NULL : !json_equal(made, wanted))
            fail_msg("case %zu", i);
    }
}

/* The agent is the first process of a sandbox. */
TEST(an_image_may_begin_with_an_init)
{
    static const struct {
        const char *image, *init;
    } cases[] = {
        {"{\"entrypoint\": [], \"command\": [\"/sbin/init\"]}", "/sbin/init"},
        {"{\"entrypoint\": [\"/usr/lib/systemd/systemd\", \"a\"], \"command\": []}",
         "/usr/lib/systemd/systemd"},
        {"{\"entrypoint\": [\"/start\"], \"command\": [\"/usr/sbin/init\"]}", "/usr/sbin/init"},
        {"{\"entrypoint\": [\"/init\"], \"command\": [\"nginx\", \"/sbin/init\"]}", NULL},
        {"{\"entrypoint\": \"x\", \"command\": [1]}", NULL},
        {"{}", NULL},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        json_auto_t *defaults = json_pack("{s:o}", "image", json_loads(cases[i].image, 0, NULL));
        const char *init = recipe_setting_init(defaults);
        if (cases[i].init ? !init || strcmp(init, cases[i].init) != 0 : init != NULL)
            fail_msg("case %zu", i);
    }
}

TEST(the_base_names_ports)
{
    json_auto_t *recipe = json_pack("{s:[], s:{s:[s], s:[s, s, s, s, s]}}", "steps", RECIPE_CONFIG,
                                    "exposed_ports", "80/tcp", DOCKERFILE_OPEN_PORTS,
                                    "${PORT:-3000}", "${OWN:-1}", "$SEVERAL", "$NONE", "$WORD");
    json_auto_t *wanted = json_pack("[s, s, s, s, s, s]", "9/tcp", "80/tcp", "3000/tcp", "8080/tcp",
                                    "53/udp", "54/tcp");
    struct recipe_place place = {
        .recipe = recipe,
        .defaults = json_pack("{s:{s:s, s:s, s:s}, s:{s:[s]}}", "envs", "OWN", "8080", "SEVERAL",
                              "53/UDP 54", "WORD", "here", "image", "exposed_ports", "9/tcp"),
    };
    recipe_setting_configure(&place, 0);
    const json_t *image = json_object_get(place.defaults, "image");
    assert_true(json_equal(json_object_get(image, "exposed_ports"), wanted));
    assert_null(json_object_get(image, DOCKERFILE_OPEN_PORTS));
    json_decref(place.defaults);
}

TEST(the_base_names_no_end_of_ports)
{
    json_auto_t *ports = json_array();
    char text[4000];
    memset(text, '1', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    for (size_t i = 1; i < sizeof text; i += 2)
        text[i] = ' ';
    assert_false(dockerfile_ports_read(text, ports));
    assert_in_range(json_array_size(ports), 1, DOCKERFILE_PORTS_MAX + 1);
}

TEST(places_of_a_program_name_variables)
{
    json_auto_t *program = json_pack("[s, s, s]", "$A", "${A}/b", "\\$A");
    json_auto_t *places = json_pack("[i, i]", 1, 7);
    json_auto_t *envs = json_pack("{s:s}", "A", "/go");
    json_auto_t *wanted = json_pack("[s, s, s]", "$A", "/go/b", "\\$A");
    recipe_setting_expand(places, envs, program);
    assert_true(json_equal(program, wanted));
    recipe_setting_expand(NULL, envs, program);
    assert_true(json_equal(program, wanted));
}

TEST(open_variables_do_not_replace_those_of_the_base)
{
    json_auto_t *opens =
        json_pack("{s:s, s:s, s:s, s:s, s:s}", "BASE", "${BASE:-1}", "OWN", "${OWN:-2}", "BOTH",
                  "$OWN$BASE", "MORE", "/x:$PATH", "PATH", "/y");
    json_auto_t *envs = json_pack("{s:s}", "BASE", "b");
    json_auto_t *wanted =
        json_pack("{s:s, s:s, s:s, s:s}", "BASE", "b", "OWN", "2", "BOTH", "b", "MORE", "/x:/bin");
    char path[] = "/bin";
    const struct recipe_place place = {.path = path};
    error_auto err = NULL;
    assert_ok(recipe_setting_add_open(&place, opens, envs, &err));
    assert_true(json_equal(envs, wanted));
    assert_ok(recipe_setting_add_open(&place, NULL, envs, &err));
    char large[RECIPE_ENVS_MAX / 4];
    memset(large, 'a', sizeof large - 1);
    large[sizeof large - 1] = '\0';
    json_auto_t *much = json_pack("{s:s, s:s, s:s}", "X", large, "Y", large, "Z", large);
    for (char name[] = "0"; *name < '3'; ++*name)
        json_object_set_new(much, name, json_string(large));
    assert_int_equal(recipe_setting_add_open(&place, much, envs, &err), -1);
    assert_int_equal(err->code, ERR_INVALID_REQUEST);
    assert_true(json_equal(envs, wanted));
}
