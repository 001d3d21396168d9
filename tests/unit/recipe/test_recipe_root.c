/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The roots of the stages that begin with the template of the sandbox. */
#include "unit/unit.h"

#include "base/mem.h"
#include "recipe/recipe_image.h"
#include "recipe/recipe_root.h"
#include "recipe/recipe_user.h"

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

/* A step of a Dockerfile that runs a command in shell form; members: further ones. */
#define RUN(command, members)                                                           \
    "{\"type\": \"run\", \"arguments\": [\"/bin/sh\", \"-c\", \"" command "\"]" members \
    ", \"line\": 2}"

/* Commands of Dockerfiles may also need the user of sandboxes, who is then there from the start. */
TEST(a_dockerfile_that_adds_our_user_or_number_begins_without_our_user)
{
    static const struct {
        const char *steps;
        bool without;
    } cases[] = {
        {"[]", false},
        {"[" RUN("chown 1000 a", "") "]", false},
        {"[" RUN("groupadd a; usermod -aG a user", "") "]", false},
        {"[" RUN("groupadd --gid 1000 rails", ", \"variables\": {}") "]", true},
        {"[{\"type\": \"run\", \"arguments\": [\"adduser\", \"-u\", \"1000\", \"app\"], \"line\": "
         "2}]",
         true},
        {"[" RUN("useradd -u $ID", ", \"variables\": {\"ID\": \"1000\"}") "]", true},
        {"[{\"type\": \"env\", \"envs\": {\"ID\": \"1000\"}, \"line\": 2},"
         " " RUN("addgroup -g $ID a", "") "]",
         true},
        {"[" RUN("adduser coder", "") ","
                                      " {\"type\": \"user\", \"user\": \"user1000\", \"number\": "
                                      "\"1000\", \"line\": 3}]",
         true},
        {"[" RUN("useradd app", "") ", {\"type\": \"copy\", \"user\": \"1000:1000\", \"line\": 3}]",
         true},
        {"[" RUN("bash -c 'useradd -u 1000 app'", "") "]", true},
        {"[" RUN("useradd -u1000 app", "") "]", true},
        {"[" RUN("useradd -u 10001 app; chown 21000:31000 /a", "") "]", false},
        {"[{\"type\": \"run\", \"arguments\": [\"useradd app\"], \"line\": 1000},"
         " {\"type\": \"copy\", \"files\": \"1000\", \"line\": 3}]",
         false},
        {"[{\"type\": \"run\", \"command\": \"useradd -u 1000 app; useradd user\"}]", false},
        /* It adds a user of the same name. */
        {"[" RUN("useradd -ms /bin/bash user", "") "]", true},
        {"[" RUN("apt-get update && /usr/sbin/useradd user && true", "") "]", true},
        {"[" RUN("adduser -D -g '' user 2>/dev/null", "") "]", true},
        {"[" RUN("adduser --disabled-password --gecos 'Some One' 'user'; a", "") "]", true},
        {"[" RUN("groupadd -r user && useradd -rg user user", "") "]", true},
        {"[" RUN("adduser -S ${U} -G docker", ", \"variables\": {\"U\": \"user\"}") "]", true},
        {"[{\"type\": \"run\", \"arguments\": [\"useradd\", \"user\"], \"line\": 2}]", true},
        {"[" RUN("useradd users; useradd -m -d /home/user app; echo user", "") "]", false},
        {"[" RUN("adduser user sudo; addgroup user docker", "") "]", false},
        {"[" RUN("useradd -g user app; adduser --ingroup user app", "") "]", false},
        {"[" RUN("adduser -S $U", ", \"open_variables\": {\"U\": \"${U:-user}\"}") "]", true},
        {"[" RUN("adduser -u $N a", ", \"open_variables\": {\"N\": \"${N:-1000}\"}") "]", true},
        {"[" RUN("adduser -S $U", ", \"variables\": {\"U\": \"app\", \"V\": \"user\"}") "]", false},
        /* It gives the number to another user. */
        {"[" RUN("usermod -u 1000 www-data && groupmod -g 1000 www-data", "") "]", true},
        {"[" RUN("groupmod -o --gid=$G node", ", \"variables\": {\"G\": \"1000\"}") "]", true},
        {"[" RUN("usermod -s /bin/bash -aG docker app; chown 1000 /a", "") "]", false},
        {"[" RUN("usermod -u 33 www-data", "") "]", false},
        /* It removes the image's user of this number, and of the group that both have. */
        {"[" RUN("deluser --remove-home node", "") "]", true},
        {"[" RUN("userdel -r ubuntu || true", "") "]", true},
        {"[" RUN("userdel -r node", "") ", {\"type\": \"copy\", \"user\": \"user:\", \"line\": 3}]",
         false},
        {"[" RUN("deluser user sudo; echo userdel", "") "]", false},
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

/* A template has this user. Steps that name him need him. */
TEST(a_dockerfile_on_a_template_begins_with_a_step_that_removes_our_user)
{
    static const struct {
        const char *steps;
        bool without;
    } cases[] = {
        {"[" RUN("useradd app", "") "]", false},
        {"[" RUN("useradd -u 1000 app; chown app /home/user --from=user-x", "") "]", true},
        {"[" RUN("useradd -m user", "") ", {\"type\": \"user\", \"user\": \"user\", \"line\": 3}]",
         true},
        {"[" RUN("useradd -u 1000 app",
                 "") ", {\"type\": \"copy\", \"user\": \"user:\", \"line\": 3}]",
         false},
        {"[" RUN("groupadd -g 1000 a && usermod -aG a user", "") "]", false},
        {"[" RUN("useradd -u 1000 app && su user -c id", "") "]", false},
        {"[" RUN("useradd -u 1000 app && chown $U /a", ", \"variables\": {\"U\": \"user\"}") "]",
         false},
        {"[" RUN("useradd -u 1000 app", ", \"variables\": {\"DB_USER\": \"user\"}") "]", true},
        {"[{\"type\": \"run\", \"command\": \"useradd -u 1000 app\"}]", false},
    };
    static const struct recipe_image base = {.name = "t", .is_template = true};
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        json_auto_t *recipe = json_pack("{s:o}", "steps", json_loads(cases[i].steps, 0, NULL));
        json_auto_t *whole = NULL;
        error_auto err = NULL;
        assert_ok(recipe_image_add_bases(&settings, &base, 1, recipe, &whole, &err));
        const json_t *steps = json_object_get(whole, "steps");
        const json_t *first = json_array_get(steps, 0);
        size_t more = json_array_size(steps) - json_array_size(json_object_get(recipe, "steps"));
        if (json_is_true(json_object_get(first, RECIPE_WITHOUT_USER)) != cases[i].without ||
            more != cases[i].without)
            fail_msg("case %zu", i);
    }
}

TEST(our_user_stays_if_commands_run_as_this_user)
{
    json_auto_t *step = json_pack("{s:s, s:b}", "type", "run", RECIPE_WITHOUT_USER, 1);
    json_auto_t *other = json_pack("{s:s}", "type", "run");
    assert_true(recipe_keeps_user(step, "user"));
    assert_true(recipe_keeps_user(step, "user:staff"));
    assert_false(recipe_keeps_user(step, "root"));
    assert_false(recipe_keeps_user(step, "users"));
    assert_false(recipe_keeps_user(other, "user"));
}
