/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The gate's decisions about the data plane and previews, as nginx sees them. */
#include "harness/harness.h"
#include "unit/unit.h"

#include "base/mem.h"

/* A sandbox, and what a client knows of it. */
struct box {
    char *id, *route, *token;
};

static void box_deinit(struct box *box)
{
    free(box->id);
    free(box->route);
    free(box->token);
}
#define box_auto __attribute__((cleanup(box_deinit))) struct box

static struct box make(struct harness *harness, const char *body)
{
    harness_answer_auto made = harness_api(harness, "POST", "/v1/sandboxes", body, NULL);
    assert_int_equal(made.status, 201);
    const json_t *session = json_object_get(made.json, "session");
    const char *url = json_string_value(json_object_get(session, "data_plane_url"));
    recorder_forget();
    return (struct box){
        xstrdup(json_string_value(json_object_get(made.json, "id"))),
        xstrndup(url + strlen("https://"), 26),
        xstrdup(json_string_value(json_object_get(session, "access_token"))),
    };
}

static void tell(struct harness *harness, const struct box *box, const char *verb)
{
    autofree char *path = xasprintf("/v1/sandboxes/%s/%s", box->id, verb);
    harness_answer_auto answer = harness_api(harness, "POST", path, "{}", NULL);
    assert_in_range(answer.status, 200, 204);
    recorder_forget();
}

static struct harness_answer ask_data(struct harness *harness, const struct box *box,
                                      const char *path, const char *token, bool wake)
{
    autofree char *route = xasprintf("SANDLOT_ROUTE=%s", box->route);
    autofree char *uri = xasprintf("SANDLOT_URI=%s", path);
    autofree char *shown = xasprintf("HTTP_X_ACCESS_TOKEN=%s", token);
    return harness_gate(harness,
                        (const char *[]){"SANDLOT_KIND=data", "SANDLOT_METHOD=GET", route, uri,
                                         shown, wake ? "SANDLOT_WAKE=1" : NULL, NULL});
}

static struct harness_answer ask_preview(struct harness *harness, const struct box *box, int port,
                                         const char *token)
{
    autofree char *route = xasprintf("SANDLOT_ROUTE=%s", box->route);
    autofree char *number = xasprintf("SANDLOT_PORT=%d", port);
    autofree char *shown = xasprintf("HTTP_X_ACCESS_TOKEN=%s", token);
    return harness_gate(harness, (const char *[]){"SANDLOT_KIND=preview", "SANDLOT_METHOD=GET",
                                                  "SANDLOT_URI=/", "SANDLOT_WAKE=1", route, number,
                                                  shown, NULL});
}

static void assert_refused(const struct harness_answer *answer, const char *reason)
{
    autofree char *said = harness_header(answer, "Sandlot-Answer");
    assert_int_equal(answer->status, 403);
    assert_string_equal(said, reason);
}

static void assert_passed(const struct harness_answer *answer, const char *port)
{
    autofree char *said = harness_header(answer, "Sandlot-Answer");
    assert_int_equal(answer->status, 200);
    assert_non_null(said);
    assert_string_equal(strchr(said, ':') + 1, port);
}

TEST(a_token_opens_its_own_sandbox_only)
{
    box_auto own = make(*state, "{}"), other = make(*state, "{}");
    harness_answer_auto passed = ask_data(*state, &own, "/files", own.token, false);
    assert_passed(&passed, "49983");
    autofree char *secret = harness_header(&passed, "Agent-Secret");
    assert_int_equal(strlen(secret), 64);
    harness_answer_auto none = ask_data(*state, &own, "/files", "", false);
    assert_refused(&none, "unauthorized");
    harness_answer_auto wrong = ask_data(*state, &own, "/files", other.token, false);
    autofree char *said = harness_header(&wrong, "Sandlot-Answer");
    assert_int_equal(wrong.status, 403);
    assert_non_null(said);
    assert_string_equal(recorder_calls(), "");
}

static char *token_for(struct harness *harness, const struct box *box, const char *wish)
{
    autofree char *path = xasprintf("/v1/sandboxes/%s/sessions", box->id);
    harness_answer_auto made = harness_api(harness, "POST", path, wish, NULL);
    assert_int_equal(made.status, 201);
    const json_t *session = json_object_get(made.json, "session");
    return xstrdup(json_string_value(json_object_get(session, "access_token")));
}

/* Nothing listens: a preview that says so has let the token in. */
TEST(a_token_for_previews_opens_no_data_plane)
{
    static const struct {
        const char *wish, *first, *second;
    } kinds[] = {
        {"{\"purpose\": \"previews\"}", "no_listener", "no_listener"},
        {"{\"purpose\": \"previews\", \"lifetime\": \"sandbox\"}", "no_listener", "no_listener"},
        {"{\"port\": 3000}", "no_listener", "bad_token"},
        {"{\"port\": 3001, \"lifetime\": \"sandbox\"}", "bad_token", "no_listener"},
    };
    box_auto box = make(*state, "{\"exposed_ports\": [{\"port\": 3000, \"public\": false},"
                                " {\"port\": 3001, \"public\": false}]}");
    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
        autofree char *token = token_for(*state, &box, kinds[i].wish);
        harness_answer_auto data = ask_data(*state, &box, "/files", token, false);
        assert_refused(&data, "unauthorized");
        harness_answer_auto first = ask_preview(*state, &box, 3000, token);
        assert_refused(&first, kinds[i].first);
        harness_answer_auto second = ask_preview(*state, &box, 3001, token);
        assert_refused(&second, kinds[i].second);
    }
    autofree char *all = token_for(*state, &box, "{}");
    harness_answer_auto data = ask_data(*state, &box, "/files", all, false);
    assert_passed(&data, "49983");
}

TEST(internal_paths_are_nobodys)
{
    box_auto box = make(*state, "{}");
    harness_answer_auto init = ask_data(*state, &box, "/init", box.token, false);
    assert_refused(&init, "internal_path");
    harness_answer_auto hang_up = ask_data(*state, &box, "/internal/hang-up", box.token, false);
    assert_refused(&hang_up, "internal_path");
}

TEST(a_paused_sandbox_is_woken_only_where_that_may_wait)
{
    box_auto plain = make(*state, "{}");
    tell(*state, &plain, "pause");
    harness_answer_auto paused = ask_data(*state, &plain, "/files", plain.token, true);
    assert_refused(&paused, "paused");
    assert_string_equal(recorder_calls(), "");

    box_auto resuming =
        make(*state, "{\"lifecycle\": {\"on_timeout\": \"pause\", \"auto_resume\": true}}");
    tell(*state, &resuming, "pause");
    harness_answer_auto handed_on = ask_data(*state, &resuming, "/files", resuming.token, false);
    assert_int_equal(handed_on.status, 409);
    assert_int_equal(recorder_count("resume"), 0);
    harness_answer_auto woken = ask_data(*state, &resuming, "/files", resuming.token, true);
    assert_passed(&woken, "49983");
    assert_int_equal(recorder_count("resume"), 1);
}

TEST(a_preview_needs_an_exposed_port_and_a_listener)
{
    box_auto box = make(*state, "{\"exposed_ports\": [{\"port\": 3000}]}");
    harness_answer_auto hidden = ask_preview(*state, &box, 3001, box.token);
    assert_refused(&hidden, "port_not_exposed");
    /* The agent itself says that nobody listens. */
    harness_answer_auto silent = ask_preview(*state, &box, 3000, box.token);
    assert_refused(&silent, "no_listener");
}

/* Ask for a preview while half of the gate's workers serve sandboxes of this user. */
static struct harness_answer ask_beside(struct harness *harness, const struct box *box,
                                        const char *user_id)
{
    harness_others_auto others = {{NULL}};
    const struct pool_claim claim = {.user = pool_tenant(user_id)};
    harness_occupy(harness, "gate", &claim, &others);
    return ask_preview(harness, box, 3000, box->token);
}

TEST(a_preview_counts_for_the_user_who_made_its_sandbox)
{
    struct harness *harness = *state;
    box_auto box = make(harness, "{\"exposed_ports\": [{\"port\": 3000}]}");
    harness_answer_auto own = ask_beside(harness, &box, harness->user.id);
    assert_refused(&own, "share_used_up");
    harness_answer_auto nobodys = ask_beside(harness, &box, "");
    assert_refused(&nobodys, "no_listener");
}

/* Ask for the answer to a client whose sandbox does not start because of the quota. */
static struct harness_answer ask_refusal(struct harness *harness, const struct box *box,
                                         const char *target, const char *token)
{
    autofree char *route = xasprintf("SANDLOT_ROUTE=%s", box->route);
    autofree char *kind = xasprintf("SANDLOT_TARGET=%s", target);
    autofree char *shown = xasprintf("HTTP_X_ACCESS_TOKEN=%s", token);
    return harness_gate(harness, (const char *[]){"SANDLOT_KIND=refusal", "SANDLOT_REASON=quota",
                                                  "SANDLOT_METHOD=GET", "SANDLOT_URI=/",
                                                  "SANDLOT_PORT=3000", route, kind, shown, NULL});
}

static bool shows_quota(struct harness *harness, const struct box *box, const char *target,
                        const char *token)
{
    harness_answer_auto answer = ask_refusal(harness, box, target, token);
    assert_int_equal(answer.status, 503);
    assert_string_equal(json_string_value(json_object_get(answer.json, "error")),
                        "sandbox_quota_exceeded");
    return json_object_get(answer.json, "quota");
}

/* A visitor of a public preview has no token, and that of a link is for previews. */
TEST(visitors_do_not_see_the_quota_of_the_team)
{
    box_auto box = make(*state, "{\"exposed_ports\": [{\"port\": 3000}]}");
    box_auto other = make(*state, "{}");
    autofree char *visitor = token_for(*state, &box, "{\"port\": 3000}");
    assert_false(shows_quota(*state, &box, "preview", ""));
    assert_false(shows_quota(*state, &box, "preview", visitor));
    assert_false(shows_quota(*state, &box, "preview", other.token));
    assert_false(shows_quota(*state, &box, "data", ""));
    assert_true(shows_quota(*state, &box, "preview", box.token));
    assert_true(shows_quota(*state, &box, "data", box.token));
}

TEST(a_deleted_sandbox_is_none)
{
    box_auto box = make(*state, "{}");
    autofree char *path = xasprintf("/v1/sandboxes/%s", box.id);
    harness_answer_auto deleted = harness_api(*state, "DELETE", path, NULL, NULL);
    assert_int_equal(deleted.status, 204);
    harness_answer_auto answer = ask_data(*state, &box, "/files", box.token, true);
    assert_refused(&answer, "no_sandbox");
}

TEST_GROUP(harness_setup, harness_teardown)
