/* SPDX-License-Identifier: GPL-2.0-or-later */
/* POST /v1/sandboxes, from the request to the row, the runtime and the agent. */
#include "harness/harness.h"
#include "unit/unit.h"

#include "base/mem.h"

static int forget(void **state)
{
    recorder_forget();
    return 0;
}

static const char *text(const struct harness_answer *answer, const char *name)
{
    return json_string_value(json_object_get(answer->json, name));
}

static long rows(struct harness *harness, const char *where)
{
    autofree char *sql = xasprintf("SELECT COUNT(*) FROM sandboxes WHERE %s", where);
    return server_ask(harness->sql, sql);
}

TEST_WITH(makes_a_sandbox, forget, NULL)
{
    struct harness *harness = *state;
    harness_answer_auto made =
        harness_api(harness, "POST", "/v1/sandboxes",
                    "{\"metadata\": {\"a\": \"b\"}, \"envs\": {\"X\": \"y\"}}", NULL);
    assert_int_equal(made.status, 201);
    assert_string_equal(text(&made, "state"), "ready");
    assert_string_equal(text(&made, "template"), "python");
    assert_string_equal(text(&made, "team"), "ada");
    autofree char *expected = xasprintf("create sbx-%s\n", text(&made, "id") + 4);
    assert_string_equal(recorder_calls(), expected);
    autofree char *row =
        xasprintf("id = '%s' AND state = 'ready' AND operation_id IS NULL", text(&made, "id"));
    assert_int_equal(rows(harness, row), 1);
    autofree char *path = xasprintf("/v1/sandboxes/%s", text(&made, "id"));
    harness_answer_auto shown = harness_api(harness, "GET", path, NULL, NULL);
    assert_int_equal(shown.status, 200);
    assert_string_equal(
        json_string_value(json_object_get(json_object_get(shown.json, "metadata"), "a")), "b");
    harness_answer_auto deleted = harness_api(harness, "DELETE", path, NULL, NULL);
    assert_int_equal(deleted.status, 204);
    /* The instance is left to the dispatcher, in an operation that nobody has yet. */
    autofree char *going = xasprintf(
        "id = '%s' AND state = 'destroying' AND operation_id IS NOT NULL", text(&made, "id"));
    assert_int_equal(rows(harness, going), 1);
    assert_int_equal(recorder_count("destroy"), 0);
    harness_answer_auto gone = harness_api(harness, "GET", path, NULL, NULL);
    assert_int_equal(gone.status, 404);
}

TEST_WITH(bad_input_names_the_field_and_asks_for_nothing, forget, NULL)
{
    static const struct {
        const char *body, *field;
    } cases[] = {
        {"{\"metadata\": 3}", "/metadata"},
        {"{\"timeout\": -1}", "/timeout"},
        {"{\"template\": \"cobol\"}", "/template"},
        {"{\"nonsense\": true}", "/nonsense"},
    };
    long before = rows(*state, "1");
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        harness_answer_auto answer =
            harness_api(*state, "POST", "/v1/sandboxes", cases[i].body, NULL);
        assert_in_range(answer.status, 400, 422);
        assert_string_equal(text(&answer, "field"), cases[i].field);
    }
    assert_string_equal(recorder_calls(), "");
    assert_int_equal(rows(*state, "1"), before);
}

/* One instance that does not start is no reason to fail. */
TEST_WITH(a_refused_start_is_tried_again, forget, NULL)
{
    recorder_fail("create", ERR_RUNTIME_REFUSED);
    harness_answer_auto made = harness_api(*state, "POST", "/v1/sandboxes", "{}", NULL);
    assert_int_equal(made.status, 201);
    assert_int_equal(recorder_count("create"), 2);
    assert_int_equal(recorder_count("destroy"), 1);
}

TEST_WITH(a_runtime_that_is_away_leaves_nothing, forget, NULL)
{
    long ready = rows(*state, "state = 'ready'");
    recorder_fail("create", ERR_RUNTIME_UNAVAILABLE);
    harness_answer_auto made = harness_api(*state, "POST", "/v1/sandboxes", "{}", NULL);
    assert_int_equal(made.status, 503);
    assert_string_equal(text(&made, "error"), "runtime_unavailable");
    autofree char *retry = harness_header(&made, "Retry-After");
    assert_non_null(retry);
    assert_int_equal(recorder_count("create"), 1);
    assert_int_equal(rows(*state, "state = 'ready'"), ready);
    assert_int_equal(rows(*state, "state IN ('creating', 'restoring')"), 0);
}

/* The recorder names runtime_no_memory and runtime_no_volumes. */
TEST_WITH(groups_that_the_runtime_lacks_are_refused, forget, NULL)
{
    harness_answer_auto made = harness_api(*state, "POST", "/v1/sandboxes", "{}", NULL);
    assert_int_equal(made.status, 201);
    autofree char *path = xasprintf("/v1/sandboxes/%s", text(&made, "id"));
    autofree char *checkpoints = xasprintf("%s/checkpoints", path);
    harness_answer_auto kept = harness_api(*state, "POST", checkpoints, "{\"memory\": true}", NULL);
    assert_int_equal(kept.status, 503);
    assert_string_equal(text(&kept, "error"), "runtime_unavailable");
    harness_answer_auto shown = harness_api(*state, "GET", path, NULL, NULL);
    assert_string_equal(text(&shown, "state"), "ready");
    harness_answer_auto volume =
        harness_api(*state, "POST", "/v1/volumes", "{\"name\": \"v\"}", NULL);
    assert_int_equal(volume.status, 500);
    harness_answer_auto volumes = harness_api(*state, "GET", "/v1/volumes", NULL, NULL);
    assert_int_equal(json_array_size(json_object_get(volumes.json, "volumes")), 0);
}

/* Each wait asks for a listing, and the last look that does not wait finds nothing. */
TEST(without_events_the_instances_are_listed)
{
    struct runtime_event event;
    error_auto err = NULL;
    assert_ok(runtime_no_events.listen(NULL, 1, &event, &err));
    assert_int_equal(event.kind, RUNTIME_EVENT_BEGIN);
    assert_ok(runtime_no_events.listen(NULL, 0, &event, &err));
    assert_int_equal(event.kind, RUNTIME_EVENT_NONE);
}

/* Make a user with two teams. key: receives an API key of the user. */
static void add_stranger(struct harness *harness, char key[API_KEY_TEXT_SIZE])
{
    struct worker *worker = &harness->api.worker;
    struct user user;
    struct team team;
    struct api_key made = {0};
    error_auto err = NULL;
    assert_ok(user_create(worker->db, "bob", &user, &err));
    assert_ok(team_create(worker->db, "crew", "basic", "bob", &team, &err));
    const struct api_key_request request = {
        .user_id = user.id, .name = "stranger", .can_write = true};
    assert_ok(api_key_create(worker->db, worker->ring, &request, &made, key, &err));
    api_key_deinit(&made);
}

/* A stranger who knows the id of a sandbox uses nothing of the share of its team. */
TEST_WITH(a_stranger_counts_for_the_own_team, forget, NULL)
{
    struct harness *harness = *state;
    char own_key[API_KEY_TEXT_SIZE];
    const struct pool_claim claim = {.team = pool_tenant(harness->user.personal_team_id)};
    harness_answer_auto made = harness_api(harness, "POST", "/v1/sandboxes", "{}", NULL);
    assert_int_equal(made.status, 201);
    autofree char *path = xasprintf("/v1/sandboxes/%s", text(&made, "id"));
    harness_others_auto others = {{NULL}};
    harness_occupy(harness, "api", &claim, &others);
    harness_answer_auto own = harness_api(harness, "GET", path, NULL, NULL);
    assert_int_equal(own.status, 429);
    memcpy(own_key, harness->key, sizeof own_key);
    add_stranger(harness, harness->key);
    harness_answer_auto strangers = harness_api(harness, "GET", path, NULL, NULL);
    memcpy(harness->key, own_key, sizeof own_key);
    assert_int_equal(strangers.status, 404);
}

TEST_WITH(the_plan_bounds_how_many, forget, NULL)
{
    struct harness *harness = *state;
    error_auto err = NULL;
    autofree char *most = xasprintf("%ld", rows(harness, "state = 'ready'"));
    assert_ok(plan_set(harness->api.worker.db, "basic", &(struct plan_value){"sandboxes", most}, 1,
                       &err));
    harness_answer_auto made = harness_api(harness, "POST", "/v1/sandboxes", "{}", NULL);
    assert_int_equal(made.status, 422);
    assert_string_equal(text(&made, "error"), "sandbox_quota_exceeded");
    assert_string_equal(recorder_calls(), "");
}

TEST_GROUP(harness_setup, harness_teardown)
