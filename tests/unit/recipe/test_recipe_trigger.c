/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The steps of a base's ONBUILD, in the recipe of a build; and why a build failed. */
#include "unit/unit.h"

#include "base/mem.h"
#include "recipe/recipe_image.h"
#include "recipe/recipe_progress.h"
#include "recipe/recipe_turn.h"
#include "template/template_row.h"
#include "unit/fleet.h"
#include "unit/keyring.h"
#include "unit/schema.h"

#define OWNER              "test"
#define BASE(instructions) "{\"image\": {\"on_build\": [" instructions "]}}"
#define TRIGGERS           BASE("\"RUN two\", \"EXPOSE 81\", \"RUN three\"")

static struct team acme;
static struct user alice;
static struct settings settings;
static struct worker worker = {.lease_owner = OWNER, .settings = &settings};

/* The next sandbox has as many attempts as the first. */
DB_STATEMENT(attempts_statement) = {
    "test.attempts", "SELECT attempts FROM template_recipes WHERE template_version_id = ?"};

static char no_registry[] = "";

static void set_cache(unsigned gb, unsigned mount_gb)
{
    settings = (struct settings){.build_cache_gb = gb,
                                 .build_cache_steps = gb,
                                 .build_cache_mount_gb = mount_gb,
                                 .image_registry_default = no_registry,
                                 .image_registry_mirrors = no_registry,
                                 .image_registries_http = no_registry,
                                 .image_max_mb = 1};
}

static int set_up(void **state)
{
    struct error *err = NULL;
    if (schema_setup(state) < 0 || user_create(db, "alice", &alice, &err) < 0 ||
        team_create(db, "acme", "pro", "alice", &acme, &err) < 0)
        return -1;
    worker.db = db;
    worker.ring = unit_keyring(UNIT_KEY_1);
    set_cache(0, 0);
    return 0;
}

static int tear_down(void **state)
{
    keyring_free(worker.ring);
    return schema_teardown(state);
}

static int open_body(struct db *session, void *context, struct error **err)
{
    const struct recipe_owner owner = {acme.id, alice.id, NULL};
    return recipe_open(session, context, &owner, err);
}

/* The base t is the template of the sandbox, the base other is another one, and all others are
 * images. */
static json_t *recipe_of(const char *text)
{
    dockerfile_auto *file = NULL;
    struct dockerfile_plan plan;
    struct recipe_image bases[DOCKERFILE_STAGES_MAX];
    struct error *err = NULL;
    json_auto_t *recipe = json_object();
    json_t *whole;
    assert_ok(dockerfile_parse(text, strlen(text), &file, &err));
    assert_ok(dockerfile_plan(file, &(struct dockerfile_build){.machine = NULL}, &plan, &err));
    recipe_dockerfile_add(recipe, &plan, NULL);
    json_object_set_new(plan.build, RECIPE_TEMPLATES, json_pack("[s]", "t"));
    json_object_set_new(plan.build, RECIPE_OTHER_TEMPLATES, json_pack("[s]", "other"));
    for (size_t i = 0; i < json_array_size(plan.bases); i++) {
        const char *name = json_string_value(json_array_get(plan.bases, i));
        bases[i] = (struct recipe_image){.name = name, .is_template = !strcmp(name, "t")};
    }
    assert_ok(recipe_image_add_bases(&settings, bases, json_array_size(plan.bases), recipe, &whole,
                                     &err));
    dockerfile_plan_deinit(&plan);
    return whole;
}

/* Begin a build from this Dockerfile, and take it. */
static void begin(const char *text, struct recipe_turn *turn)
{
    struct error *err = NULL;
    buffer_auto sealed = BUFFER_INIT(RECIPE_SEALED_MAX);
    json_auto_t *recipe = recipe_of(text);
    *turn = (struct recipe_turn){.worker = &worker};
    assert_ok(
        template_version_add(db, acme.id, "made", "image", 1, 512, false, &turn->version, &err));
    assert_ok(db_transaction(db, open_body, turn->version.id, &err));
    const struct recipe_order order = {turn->version.id, &turn->version, NULL, recipe, "open"};
    assert_ok(recipe_begin(db, worker.ring, &order, &err));
    assert_ok(recipe_row_take(db, OWNER, 60, &turn->row, &sealed, &err));
    assert_string_equal(turn->row.version_id, turn->version.id);
    assert_ok(recipe_open_sealed(worker.ring, turn->version.id, sealed.data, sealed.size,
                                 &turn->whole, &err));
}

static void end(struct recipe_turn *turn)
{
    struct error *err = NULL;
    json_decref(turn->whole);
    json_decref(turn->row.times);
    assert_ok(recipe_row_done(db, &turn->row, OWNER, true, &err));
}

static int add(struct recipe_turn *turn, const char *base, struct error **err)
{
    json_auto_t *defaults = json_loads(base, 0, NULL);
    const struct recipe_place place = {.recipe = json_object_get(turn->whole, "recipe"),
                                       .defaults = defaults};
    assert_non_null(defaults);
    return recipe_turn_add_triggers(turn, &place, err);
}

static void assert_types(const struct recipe_turn *turn, const char *expected)
{
    struct buffer made = BUFFER_INIT(1024);
    const struct recipe_place place = {.recipe = json_object_get(turn->whole, "recipe")};
    for (unsigned i = 0; i < recipe_step_count(&place); i++) {
        const json_t *one = recipe_step_at(&place, i);
        buffer_printf(&made, "%s%s", i ? " " : "", recipe_text(one, "type"));
        if (json_object_get(one, DOCKERFILE_TRIGGERS))
            buffer_printf(&made, ":%d", (int)json_integer_value(json_object_get(one, "line")));
    }
    autofree char *text = buffer_steal(&made);
    assert_string_equal(text, expected);
}

/* Add the missing instructions before a step. expected: the types of all steps, and the lines of
 * those that come from ONBUILD. */
static void assert_steps(struct recipe_turn *turn, unsigned step, const char *expected)
{
    struct error *err = NULL;
    json_auto_t *listed = NULL;
    turn->row.step = step;
    assert_ok(add(turn, TRIGGERS, &err));
    assert_types(turn, expected);
    assert_ok(recipe_steps_read(db, &turn->version, &listed, &err));
    const json_t *steps = json_object_get(json_object_get(turn->whole, "recipe"), "steps");
    assert_int_equal(json_array_size(listed), json_array_size(steps));
}

static size_t ports(const struct recipe_turn *turn)
{
    return json_array_size(json_object_get(
        json_object_get(json_object_get(turn->whole, "recipe"), RECIPE_CONFIG), "exposed_ports"));
}

#define RUN   "FROM t\nRUN r\n"
#define IMAGE "r.example/"

TEST(steps_follow_the_base_once)
{
    struct recipe_turn turn;
    begin("FROM " IMAGE "i\nEXPOSE 80\nRUN r\n", &turn);
    assert_steps(&turn, 0, "image run");
    assert_steps(&turn, 1, "image run:1 run:1 run");
    assert_int_equal(ports(&turn), 2);
    assert_steps(&turn, 1, "image run:1 run:1 run");
    assert_steps(&turn, 2, "image run:1 run:1 run");
    assert_int_equal(ports(&turn), 2);
    end(&turn);
}

TEST(a_template_is_there_from_the_beginning)
{
    struct recipe_turn turn;
    begin("\nFROM t\n", &turn);
    assert_steps(&turn, 0, "run:2 run:2");
    assert_steps(&turn, 0, "run:2 run:2");
    end(&turn);
}

/* Their defaults have them when the build has finished. */
TEST(its_own_are_for_others)
{
    struct recipe_turn turn;
    begin("FROM t\nONBUILD RUN a\n", &turn);
    assert_steps(&turn, 1, "");
    end(&turn);
    begin("FROM " IMAGE "i\nONBUILD RUN a\n", &turn);
    assert_steps(&turn, 2, "image");
    end(&turn);
}

/* The first step of three is for an image of COPY --from, whose instructions do not run. */
TEST(each_stage_has_those_of_its_base)
{
    struct recipe_turn turn;
    begin("FROM " IMAGE "a AS one\nFROM " IMAGE "b\nCOPY --from=" IMAGE
          "c /x /y\nRUN r\nCOPY --from=one /z /z\n",
          &turn);
    for (unsigned step = 0; step < 6; step++)
        assert_steps(&turn, step,
                     "image image image stage save stage save stage copy_stage run copy_stage");
    assert_steps(&turn, 6,
                 "image image image stage save stage run:1 run:1 save stage copy_stage run "
                 "copy_stage");
    assert_int_equal(ports(&turn), 0);
    assert_steps(&turn, 10,
                 "image image image stage save stage run:1 run:1 save stage run:2 run:2 copy_stage "
                 "run copy_stage");
    assert_int_equal(ports(&turn), 1);
    end(&turn);
}

/* The root of the sandbox is the template's, and has the stage's root only behind its step. */
TEST(a_stage_of_a_template_has_them)
{
    struct recipe_turn turn;
    begin("FROM t AS one\nRUN a\nFROM t\nCOPY --from=one /z /z\n", &turn);
    assert_steps(&turn, 0, "template stage run save stage copy_stage");
    assert_steps(&turn, 1, "template stage run save stage copy_stage");
    assert_steps(&turn, 2, "template stage run:1 run:1 run save stage run:3 run:3 copy_stage");
    end(&turn);
}

/* A step may write into the defaults of its base. */
TEST(a_step_that_runs_adds_none)
{
    struct recipe_turn turn;
    begin(RUN, &turn);
    turn.row.begun = true;
    assert_steps(&turn, 0, "run");
    end(&turn);
}

/* Otherwise a later build would begin with steps of this one, behind the place of the triggers. */
TEST(triggers_without_steps_change_the_keys)
{
    struct error *err = NULL;
    struct recipe_turn turn;
    char plain[RECIPE_KEY_SIZE];
    begin(RUN, &turn);
    assert_ok(recipe_turn_find_key(&turn, &err));
    snprintf(plain, sizeof plain, "%s", turn.result_key);
    assert_ok(add(&turn, BASE("\"CMD a\""), &err));
    const json_t *steps = json_object_get(json_object_get(turn.whole, "recipe"), "steps");
    assert_int_equal(json_array_size(steps), 2);
    assert_non_null(json_object_get(json_array_get(steps, 0), DOCKERFILE_TRIGGERS));
    json_object_del(json_object_get(json_object_get(turn.whole, "recipe"), RECIPE_CONFIG),
                    "command");
    assert_ok(recipe_turn_find_key(&turn, &err));
    assert_string_not_equal(turn.result_key, plain);
    end(&turn);
}

/* Let the turn have a sandbox, add the steps, and return whether it keeps the sandbox. */
static bool keeps_sandbox(struct recipe_turn *turn, const char *base, const char *mounts)
{
    struct error *err = NULL;
    snprintf(turn->row.sandbox_id, ID_SIZE, "sbx_none");
    turn->sandbox.volume_mounts = (char *)(uintptr_t)mounts;
    assert_ok(add(turn, base, &err));
    return *turn->row.sandbox_id;
}

TEST(an_equal_build_is_found_with_its_triggers)
{
    struct error *err = NULL;
    struct recipe_turn first, second;
    set_cache(1, 0);
    begin(RUN, &first);
    assert_true(keeps_sandbox(&first, TRIGGERS, "{}"));
    assert_ok(recipe_turn_find_key(&first, &err));
    assert_ok(recipe_row_hand_over(db, &first.row, OWNER, 1, "made", TEMPLATE_NO_START,
                                   first.result_key, &err));
    assert_ok(template_version_finish(db, first.version.id, true, false, "f00d", &err));
    end(&first);
    begin(RUN, &second);
    assert_ok(recipe_turn_find_cached(&second, &err));
    assert_string_equal(second.same_id, "");
    assert_false(keeps_sandbox(&second, TRIGGERS, "{}"));
    db_rows_auto *rows = NULL;
    assert_ok(db_query(db, &attempts_statement, DB_ARGS(db_text(second.version.id)), &rows, &err));
    assert_true(db_rows_next(rows));
    assert_int_equal(db_get_u64(rows, 0), 0);
    assert_string_equal(second.same_id, first.version.id);
    end(&second);
    set_cache(0, 0);
}

TEST(a_sandbox_without_caches_is_made_again)
{
    static const struct {
        const char *instruction, *mounts;
        bool keeps;
    } cases[] = {
        {"\"RUN --mount=type=cache,target=/c two\"", "{}", false},
        {"\"RUN --mount=type=cache,target=/c two\"", "{\"/caches\":\"c\"}", true},
        {"\"RUN two\"", "{}", true},
    };
    set_cache(0, 1);
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct recipe_turn turn;
        autofree char *base = xasprintf(BASE("%s"), cases[i].instruction);
        begin(RUN, &turn);
        assert_int_equal(keeps_sandbox(&turn, base, cases[i].mounts), cases[i].keeps);
        end(&turn);
    }
    set_cache(0, 0);
}

TEST(a_sandbox_stays_if_no_other_can_fetch_the_image)
{
    struct recipe_turn turn;
    struct error *err = NULL;
    for (unsigned step = 0; step < 2; step++) {
        begin(RUN, &turn);
        json_object_set_new(turn.whole, RECIPE_HAS_LOGIN, json_true());
        turn.row.step = step;
        snprintf(turn.row.sandbox_id, ID_SIZE, "sbx_none");
        assert_ok(recipe_turn_begin_again(&turn, true, &err));
        assert_int_equal(*turn.row.sandbox_id != '\0', step);
        end(&turn);
    }
}

#define COPIES BASE("\"COPY --from=lib /a /b\", \"SHELL [\\\"/s\\\"]\"")

/* The steps that have run lack a stage: the next sandbox begins with the first step. */
TEST(a_stage_that_only_a_trigger_needs_begins_the_build_again)
{
    static const char digest[] = "sha256:d";
    struct recipe_turn turn;
    struct error *err = NULL;
    begin("FROM " IMAGE "lib AS lib\nFROM " IMAGE "x\nRUN r\n", &turn);
    assert_types(&turn, "image run");
    json_t *steps = json_object_get(json_object_get(turn.whole, "recipe"), "steps");
    json_object_set_new(json_array_get(steps, 0), "reference", json_string(digest));
    turn.row.step = 1;
    assert_false(keeps_sandbox(&turn, COPIES, "{}"));
    assert_types(&turn, "image image stage save stage copy_stage:2 run");
    steps = json_object_get(json_object_get(turn.whole, "recipe"), "steps");
    assert_string_equal(recipe_text(json_array_get(steps, 0), "reference"), "latest");
    assert_string_equal(recipe_text(json_array_get(steps, 1), "reference"), digest);
    json_auto_t *command = json_pack("[s, s]", "/s", "r");
    assert_true(json_equal(json_object_get(json_array_get(steps, 6), "arguments"), command));
    turn.row.step = 5;
    assert_true(keeps_sandbox(&turn, COPIES, "{}"));
    assert_types(&turn, "image image stage save stage copy_stage:2 run");
    assert_ok(recipe_turn_fail_step(&turn, NULL, -1, "no", &err));
    end(&turn);
}

/* No step has run yet. */
TEST(a_template_gets_such_a_stage_in_the_same_sandbox)
{
    struct recipe_turn turn;
    begin("FROM " IMAGE "lib AS lib\nFROM t\nRUN r\n", &turn);
    assert_true(keeps_sandbox(&turn, COPIES, "{}"));
    assert_types(&turn, "image template stage save stage copy_stage:2 run");
    end(&turn);
}

TEST(such_a_stage_may_be_refused)
{
    static const struct {
        const char *text, *said;
        bool has_login;
    } cases[] = {
        {"FROM other AS lib\nFROM t\nRUN r\n", "begins with other, another template", false},
        {"FROM lib AS lib\nFROM t\nRUN r\n", "ONBUILD of the base: The image \"lib\" has no",
         false},
        {"FROM " IMAGE "lib AS lib\nFROM " IMAGE "x\nRUN r\n", "its registry login is deleted",
         true},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct recipe_turn turn;
        struct error *err = NULL;
        begin(cases[i].text, &turn);
        snprintf(turn.row.sandbox_id, ID_SIZE, "sbx_none");
        turn.row.step = cases[i].has_login;
        if (cases[i].has_login)
            json_object_set_new(turn.whole, RECIPE_HAS_LOGIN, json_true());
        assert_fails_saying(add(&turn, COPIES, &err), ERR_INVALID_REQUEST, cases[i].said);
        end(&turn);
    }
}

TEST(a_recipe_stays_below_its_bound)
{
    struct error *err = NULL;
    struct recipe_turn turn;
    size_t size = RECIPE_SEALED_MAX - 1500;
    autofree char *text = xmalloc(size);
    memset(text, 'x', size - 1);
    text[size - 1] = '\0';
    begin(RUN, &turn);
    json_object_set_new(json_object_get(turn.whole, "recipe"), "start_command", json_string(text));
    assert_fails_saying(add(&turn, BASE("\"RUN two\", \"RUN three\", \"RUN four\""), &err),
                        ERR_INVALID_REQUEST, "the build has more than 8191 KiB");
    end(&turn);
}

/* The base of the next build may have other instructions. */
TEST(a_failed_build_is_kept_without_those_of_its_base)
{
    struct error *err = NULL;
    struct recipe_turn turn;
    json_auto_t *kept = NULL, *recipe = recipe_of("FROM " IMAGE "i\nRUN r\n");
    begin("FROM " IMAGE "i\nRUN r\n", &turn);
    assert_steps(&turn, 1, "image run:1 run:1 run");
    assert_ok(recipe_turn_fail_step(&turn, NULL, -1, "no", &err));
    end(&turn);
    assert_ok(recipe_kept_read(db, worker.ring, turn.version.id, &kept, &err));
    assert_true(json_equal(kept, recipe));
}

/* The database refuses text that is no UTF-8, and the build would repeat for ever. */
TEST(a_reason_with_half_a_character_ends_the_build)
{
    struct error *err = NULL;
    struct recipe_turn turn;
    struct recipe_status status;
    bool found;
    char reason[3 * RECIPE_FAILURE_SIZE];
    autofree char *log = NULL;
    begin(RUN, &turn);
    snprintf(reason, sizeof reason, "half a \xc3: ");
    for (size_t length = strlen(reason); length + 3 < sizeof reason; length += 2)
        memcpy(reason + length, "\xc3\xa4", 3);
    assert_ok(recipe_turn_fail_step(&turn, NULL, -1, reason, &err));
    assert_ok(recipe_status_get(db, turn.version.id, &status, &found, &err));
    assert_memory_equal(status.failure, "half a ?: \xc3\xa4\xc3\xa4", 14);
    assert_int_equal(strlen(status.failure), RECIPE_FAILURE_SIZE - 2);
    assert_ok(template_version_log(db, turn.version.id, &log, &err));
    assert_non_null(strstr(log, " error: half a ?: \xc3\xa4\xc3\xa4"));
    end(&turn);
}

TEST(a_line_of_output_ends_with_a_character)
{
    struct error *err = NULL;
    struct recipe_turn turn;
    char line[2500];
    autofree char *log = NULL;
    begin("FROM t\n", &turn);
    memset(line, 'a', sizeof line);
    memcpy(line + 1999, "\xc3\xa4\nnext\n", 9);
    assert_ok(template_row_log_output(db, turn.version.id, line, &err));
    assert_ok(template_version_log(db, turn.version.id, &log, &err));
    assert_non_null(strstr(log, "aaa\n"));
    assert_non_null(strstr(log, " | next\n"));
    end(&turn);
}

/* With its time, a short line is many times as long. */
TEST(no_short_line_of_output_is_lost)
{
    enum { LINES = 4096 };
    struct error *err = NULL;
    struct recipe_turn turn;
    char text[2 * LINES + 1] = "";
    autofree char *log = NULL;
    unsigned count = 0;
    begin("FROM t\n", &turn);
    for (unsigned i = 0; i < LINES; i++)
        memcpy(text + (size_t)2 * i, i + 1 < LINES ? "a\n" : "z\n", 3);
    assert_ok(template_row_log_output(db, turn.version.id, text, &err));
    assert_ok(template_version_log(db, turn.version.id, &log, &err));
    for (const char *at = log; (at = strstr(at, " | a\n")); at++)
        count++;
    assert_int_equal(count, LINES - 1);
    assert_non_null(strstr(log, " | z\n"));
    assert_null(strstr(log, "the log is full"));
    end(&turn);
}

static unsigned parts_of_log(const char *version_id)
{
    static const struct db_statement parts = {
        "test.parts", "SELECT COUNT(*) FROM template_logs WHERE template_version_id = ?"};
    struct error *err = NULL;
    unsigned count = 0;
    int result = DB_NUMBER(db, &parts, DB_ARGS(db_text(version_id)), &count, &err);
    assert_ok(result);
    return count;
}

/* Small additions share a part, and a full part is not written again. */
TEST(a_log_is_stored_in_parts)
{
    struct error *err = NULL;
    struct recipe_turn turn;
    autofree char *log = NULL, *more = NULL;
    char line[1001];
    begin("FROM t\n", &turn);
    memset(line, 'a', sizeof line - 1);
    line[sizeof line - 1] = '\0';
    for (unsigned i = 0; i < 10; i++) {
        line[0] = (char)('0' + i);
        assert_ok(template_row_log_output(db, turn.version.id, line, &err));
    }
    unsigned count = parts_of_log(turn.version.id);
    assert_true(count >= 2 && count <= 4);
    assert_ok(template_version_log(db, turn.version.id, &log, &err));
    const char *at = log;
    for (unsigned i = 0; i < 10; i++) {
        char start[] = {' ', '|', ' ', (char)('0' + i), 'a', '\0'};
        at = strstr(at, start);
        assert_non_null(at);
    }
    /* The bound counts all parts. */
    for (unsigned i = 0; i < 400; i++)
        assert_ok(template_row_log_output(db, turn.version.id, line, &err));
    assert_ok(template_version_log(db, turn.version.id, &more, &err));
    assert_true(strlen(more) >= 262144 && strlen(more) < 262144 + 2000);
    assert_memory_equal(more, log, strlen(log));
    assert_non_null(strstr(more, "the log is full"));
    end(&turn);
}

TEST(a_title_ends_with_a_character)
{
    char command[300];
    memset(command, 'a', sizeof command);
    memcpy(command + 199, "\xc3\xa4", 3);
    json_auto_t *recipe = json_pack("{s:[{s:s, s:s}]}", "steps", "type", "run", "command", command);
    json_auto_t *titles = recipe_progress_titles(recipe);
    command[199] = '\0';
    autofree char *title = xasprintf("run %s", command);
    assert_string_equal(recipe_text(json_array_get(titles, 0), "title"), title);
}

TEST_GROUP(set_up, tear_down)
