/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>

#include "api/e2b/e2b.h"
#include "api/forks.h"
#include "api/network_input.h"
#include "api/page_list.h"
#include "api/sandbox_input.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "metrics/sample.h"
#include "moving/moving.h"
#include "recipe/recipe.h"
#include "sandbox/quota.h"
#include "sandbox/sandbox_network.h"

/* The time-outs of E2B's service for a request without one. */
#define TIMEOUT_OLD_S 15
#define TIMEOUT_S     300

static int read_plan(struct api *api, const char *team_id, struct plan *plan, struct error **err)
{
    const struct team *team = principal_team_of_id(&api->principal, team_id);
    return plan_get(api->worker.db, team->plan, plan, err);
}

/* Shorten a time-out to the longest one of the team's plan. E2B's service does so with its defaults
 * and with a new deadline; in a create or a connect, a longer time-out is an error. */
static int shorten(struct api *api, const char *team_id, uint64_t *timeout_s, struct error **err)
{
    struct plan plan;
    if (read_plan(api, team_id, &plan, err) < 0)
        return -1;
    if (*timeout_s > plan.max_timeout_s)
        *timeout_s = plan.max_timeout_s;
    return 0;
}

/* Read the time-out of a body, or the default of the path. */
static int read_timeout(struct api *api, const json_t *body, unsigned default_s,
                        const char *team_id, uint64_t *timeout_s, struct error **err)
{
    *timeout_s = (uint64_t)json_integer_value(json_object_get(body, "timeout"));
    if (*timeout_s)
        return 0;
    *timeout_s = default_s;
    return shorten(api, team_id, timeout_s, err);
}

static int create(struct api *api, const struct http_request *request, unsigned default_s,
                  struct http_response *response, struct error **err)
{
    json_auto_t *body = NULL;
    json_t *json;
    sandbox_auto sandbox = {0};
    proxy_password_auto password = {.value = NULL};
    uint64_t timeout_s;
    if (read_timeout(api, request->json, default_s, api->access.team->id, &timeout_s, err) < 0 ||
        e2b_create_body(api, request->json, timeout_s, &password, &body, err) < 0 ||
        schema_validate(sandbox_create_schema, body, err) < 0 ||
        sandboxes_create_from(api, body, &password, &sandbox, err) < 0)
        return -1;
    log_context_set("sandbox", sandbox.id);
    if (e2b_sandbox_to_json(api, &sandbox, &json, err) < 0)
        return -1;
    return http_response_json(response, 201, json);
}

int e2b_sandboxes_create(void *context, struct http_request *request,
                         struct http_response *response, struct error **err)
{
    return create(context, request, TIMEOUT_OLD_S, response, err);
}

int e2b_sandboxes_create_v2(void *context, struct http_request *request,
                            struct http_response *response, struct error **err)
{
    return create(context, request, TIMEOUT_S, response, err);
}

/* E2B's lists have no sandboxes of builds: `e2b sandbox kill --all` would end the builds. Such a
 * row loses its route, and is then left out of the page. */
static int mark_builders(struct db *db, void *rows, unsigned count, struct error **err)
{
    struct sandbox *sandboxes = rows;
    json_auto_t *ids = NULL;
    size_t index;
    json_t *id;
    if (!count)
        return 0;
    if (recipe_sandboxes(db, sandboxes[0].team_id, &ids, err) < 0)
        return -1;
    json_array_foreach (ids, index, id)
        for (unsigned i = 0; i < count; i++)
            if (str_equal(sandboxes[i].id, json_string_value(id)))
                sandboxes[i].route[0] = '\0';
    return 0;
}

static json_t *row_to_json(const struct api *api, const void *row)
{
    const struct sandbox *sandbox = row;
    (void)api;
    return sandbox->route[0] ? e2b_listed_to_json(sandbox) : NULL;
}

static int add_running(struct api *api, struct http_response *response, struct error **err)
{
    struct quota_seen seen;
    if (quota_look(api->worker.db, api->access.team->id, "", &seen, err) < 0)
        return -1;
    http_response_header(response, "X-Total-Running", "%u", seen.usage.sandboxes);
    return 0;
}

/* The list call of old clients: it has only running sandboxes. These clients read one page. */
int e2b_sandboxes_list(void *context, struct http_request *request, struct http_response *response,
                       struct error **err)
{
    if (!http_query(request, "state") &&
        e2b_add_parameter(request, xstrdup("state"), xstrdup("running"), err) < 0)
        return -1;
    if (e2b_default_limit(request, PAGE_LIMIT_MAX, err) < 0)
        return -1;
    return e2b_sandboxes_list_v2(context, request, response, err);
}

int e2b_sandboxes_list_v2(void *context, struct http_request *request,
                          struct http_response *response, struct error **err)
{
    struct page_kind kind = sandboxes_page;
    kind.complete = mark_builders;
    kind.to_json = row_to_json;
    return add_running(context, response, err) < 0
               ? -1
               : e2b_list(context, &kind, request, response, err);
}

int e2b_sandboxes_show(void *context, struct http_request *request, struct http_response *response,
                       struct error **err)
{
    struct api *api = context;
    json_t *json;
    (void)request;
    if (e2b_detail_to_json(api, &api->access.sandbox, &json, err) < 0)
        return -1;
    return http_response_json(response, 200, json);
}

static int done(struct http_response *response)
{
    response->status = 204;
    return 0;
}

static bool is_without_memory(const struct http_request *request)
{
    return json_is_false(json_object_get(request->json, "memory"));
}

/* Check whether the sandbox is paused. *moves: only to move to another host, and it resumes there
 * by itself. */
static int look_whether_paused(struct api *api, bool *paused, bool *moves, struct error **err)
{
    const struct sandbox *sandbox = &api->access.sandbox;
    *moves = false;
    *paused = sandbox_state_told(sandbox->state) == SANDBOX_STOPPED;
    return *paused ? move_goes_on(api->worker.db, sandbox->id, moves, err) : 0;
}

/* E2B's clients take 409 for a sandbox that is paused already. Other refusals leave the sandbox
 * running, and get 503. */
static int refuse_pause(struct error **err)
{
    bool is_paused = (*err)->code == ERR_SANDBOX_NOT_RUNNING;
    return !is_paused && e2b_status_of(*err) == 409 ? error_recode(err, ERR_RUNTIME_UNAVAILABLE)
                                                    : -1;
}

int e2b_sandboxes_pause(void *context, struct http_request *request, struct http_response *response,
                        struct error **err)
{
    struct api *api = context;
    sandbox_auto paused = {0};
    bool is_paused, moves;
    if (look_whether_paused(api, &is_paused, &moves, err) < 0)
        return -1;
    if (is_paused && !moves)
        return error_set(err, ERR_SANDBOX_NOT_RUNNING, "The sandbox is paused already.");
    if (sandbox_pause(&api->worker, api->access.sandbox.id, !is_without_memory(request), &paused,
                      err) < 0)
        return refuse_pause(err);
    return done(response);
}

static int connect_sandbox(struct api *api, const struct http_request *request, unsigned default_s,
                           struct http_response *response, struct error **err)
{
    const struct sandbox *found = &api->access.sandbox;
    bool was_running = sandbox_state_runs(found->state);
    sandbox_auto sandbox = {0};
    json_t *json;
    struct sandbox_resume how = {
        .extend_only = true,
        .without_memory = is_without_memory(request),
        .no_copying = api->hand_on_to != NULL,
    };
    if (read_timeout(api, request->json, default_s, found->team_id, &how.timeout_s, err) < 0 ||
        sandbox_resume(&api->worker, found->id, &how, &sandbox, err) < 0 ||
        e2b_sandbox_to_json(api, &sandbox, &json, err) < 0)
        return -1;
    return http_response_json(response, was_running ? 200 : 201, json);
}

int e2b_sandboxes_connect(void *context, struct http_request *request,
                          struct http_response *response, struct error **err)
{
    return connect_sandbox(context, request, TIMEOUT_S, response, err);
}

/* The resume call of old clients: it accepts only a paused sandbox. */
int e2b_sandboxes_resume(void *context, struct http_request *request,
                         struct http_response *response, struct error **err)
{
    struct api *api = context;
    if (sandbox_state_runs(api->access.sandbox.state))
        return error_set(err, ERR_PRECONDITION_FAILED, "The sandbox is running already.");
    return connect_sandbox(api, request, TIMEOUT_OLD_S, response, err);
}

/* Return one result of a fork in E2B's form. */
static int forked_to_json(struct api *api, const struct sandbox_forked *fork, json_t **json,
                          struct error **err)
{
    json_t *sandbox;
    if (fork->failure) {
        json_auto_t *said = http_error_to_json(fork->failure);
        *json = json_pack("{s:{s:i, s:O}}", "error", "code", e2b_status_of(fork->failure),
                          "message", json_object_get(said, "message"));
        return 0;
    }
    if (e2b_sandbox_to_json(api, &fork->sandbox, &sandbox, err) < 0)
        return -1;
    *json = json_pack("{s:o}", "sandbox", sandbox);
    return 0;
}

/* Refuse a number of forks that can never run next to the original. */
static int check_fork_count(struct api *api, const json_t *body, struct error **err)
{
    struct plan plan;
    json_int_t count = json_integer_value(json_object_get(body, "count"));
    if (read_plan(api, api->access.sandbox.team_id, &plan, err) < 0)
        return -1;
    if (count < (json_int_t)plan.sandboxes)
        return 0;
    return error_set_field(err, ERR_INVALID_REQUEST, "/count",
                           "Plan %s allows %u running sandboxes at once, including the original.",
                           plan.name, plan.sandboxes);
}

static int fork_sandbox(struct api *api, const json_t *given, unsigned default_s,
                        struct http_response *response, struct error **err)
{
    json_auto_t *body = given ? json_copy((json_t *)given) : json_object();
    json_auto_t *list = json_array();
    forks_auto forks = {0};
    uint64_t timeout_s;
    if (!sandbox_state_is_live(api->access.sandbox.state))
        return sandbox_state_require_running(api->access.sandbox.state, "", err);
    if (read_timeout(api, body, default_s, api->access.sandbox.team_id, &timeout_s, err) < 0)
        return -1;
    json_object_set_new(body, "timeout", json_integer((json_int_t)timeout_s));
    if (check_fork_count(api, body, err) < 0 || forks_make(api, body, &forks, err) < 0)
        return -1;
    for (unsigned i = 0; i < forks.count; i++) {
        json_t *json;
        if (forked_to_json(api, &forks.list[i], &json, err) < 0)
            return -1;
        json_array_append_new(list, json);
    }
    return http_response_json(response, 201, json_incref(list));
}

int e2b_sandboxes_fork(void *context, struct http_request *request, struct http_response *response,
                       struct error **err)
{
    return fork_sandbox(context, request->json, TIMEOUT_OLD_S, response, err);
}

int e2b_sandboxes_fork_v2(void *context, struct http_request *request,
                          struct http_response *response, struct error **err)
{
    return fork_sandbox(context, request->json, TIMEOUT_S, response, err);
}

/* Refuse to change the deadline of a sandbox that has none. E2B's clients expect 404 for a paused
 * sandbox. */
static int require_deadline(struct api *api, struct error **err)
{
    bool is_paused, moves;
    if (look_whether_paused(api, &is_paused, &moves, err) < 0)
        return -1;
    if (moves || sandbox_state_require_running(api->access.sandbox.state, "", err) == 0)
        return 0;
    return (*err)->code == ERR_SANDBOX_NOT_RUNNING ? error_recode(err, ERR_NOT_FOUND) : -1;
}

/* End the sandbox as its deadline would: a time-out of 0. */
static int end_now(struct api *api, struct http_request *request, struct error **err)
{
    const struct sandbox *sandbox = &api->access.sandbox;
    sandbox_auto paused = {0};
    if (sandbox->on_timeout != ON_TIMEOUT_PAUSE)
        return sandbox_destroy(&api->worker, sandbox->id, err);
    if (sandbox->hooks[0] && api_take_hook_share(api, request, err) < 0)
        return -1;
    return sandbox_pause(&api->worker, sandbox->id, sandbox->pause_memory, &paused, err);
}

int e2b_sandboxes_timeout(void *context, struct http_request *request,
                          struct http_response *response, struct error **err)
{
    struct api *api = context;
    const struct sandbox *sandbox = &api->access.sandbox;
    struct sandbox_update update = {
        .timeout_s = (uint64_t)json_integer_value(json_object_get(request->json, "timeout")),
    };
    sandbox_auto updated = {0};
    if (require_deadline(api, err) < 0 ||
        shorten(api, sandbox->team_id, &update.timeout_s, err) < 0 ||
        (update.timeout_s ? sandbox_update(&api->worker, sandbox->id, &update, &updated, err)
                          : end_now(api, request, err)) < 0)
        return -1;
    return done(response);
}

/* Extend the deadline. Like a connect to a running sandbox, it never shortens it. A shorter
 * duration than the default counts as the default. */
int e2b_sandboxes_refresh(void *context, struct http_request *request,
                          struct http_response *response, struct error **err)
{
    struct api *api = context;
    const struct sandbox *found = &api->access.sandbox;
    json_int_t duration_s = json_integer_value(json_object_get(request->json, "duration"));
    struct sandbox_resume how = {
        .timeout_s = duration_s > TIMEOUT_OLD_S ? (uint64_t)duration_s : TIMEOUT_OLD_S,
        .extend_only = true,
    };
    sandbox_auto sandbox = {0};
    if (require_deadline(api, err) < 0 || shorten(api, found->team_id, &how.timeout_s, err) < 0 ||
        sandbox_resume(&api->worker, found->id, &how, &sandbox, err) < 0)
        return -1;
    return done(response);
}

int e2b_sandboxes_network(void *context, struct http_request *request,
                          struct http_response *response, struct error **err)
{
    struct api *api = context;
    json_auto_t *body = NULL;
    autofree char *network = NULL;
    sandbox_auto changed = {0};
    proxy_password_auto password = {.value = NULL};
    if (e2b_network_body(request->json, &password, &body, err) < 0 ||
        schema_validate(network_put_schema, body, err) < 0 ||
        network_input_read(api, body, &password, &network, err) < 0)
        return -1;
    struct sandbox_network_change change = {.network = network};
    if (sandbox_network_put(&api->worker, api->access.sandbox.id, &change, &changed, err) < 0)
        return -1;
    return done(response);
}

/* --- metrics --- */

/* Return the percentage with two decimals: E2B's command line prints all that it gets. */
static double cpu_used(const struct sandbox *sandbox, const struct sample_point *point)
{
    double hundredths = 10000.0 * point->vcpus / sandbox->resources.cpu;
    return point->has_cpu ? (double)(int64_t)(hundredths + 0.5) / 100 : 0;
}

static json_t *point_to_json(const struct sandbox *sandbox, const struct sample_point *point)
{
    char time[CLOCK_ISO8601_SIZE];
    return json_pack(
        "{s:s, s:I, s:f, s:I, s:I, s:I, s:I, s:I, s:I}", "timestamp",
        clock_format_iso8601(point->at_ms, time), "timestampUnix",
        (json_int_t)(point->at_ms / 1000), "cpuUsedPct", cpu_used(sandbox, point), "cpuCount",
        (json_int_t)sandbox->resources.cpu, "memUsed", (json_int_t)point->memory_bytes, "memTotal",
        (json_int_t)sandbox->resources.memory_mb << 20, "memCache", (json_int_t)point->cache_bytes,
        "diskUsed", (json_int_t)(point->has_disk ? point->disk_bytes : 0), "diskTotal",
        (json_int_t)sandbox->resources.disk_gb << 30);
}

/* The age limit of a running sandbox's last sample, in intervals. An older sample does not show its
 * present state. */
#define SAMPLES_WITHIN 3
#define METRICS_OF_MAX 100 /* sandboxes at once */

static int load(struct db *db, const char *route, struct sandbox *sandbox, struct error **err)
{
    char id[ID_SIZE];
    if (!route_token_is_valid(route))
        return error_set(err, ERR_NOT_FOUND, "There is no such sandbox.");
    return sandbox_id_of_route(db, route, id, err) < 0 ? -1 : sandbox_get(db, id, sandbox, err);
}

/* Add the last sample of a running sandbox that the key reaches. Other sandboxes are left out. */
static int add_last(struct api *api, const char *route, json_t *all, struct error **err)
{
    const struct worker *worker = &api->worker;
    int64_t now_ms = clock_now_ms(), step_ms;
    int64_t span_ms = (int64_t)worker->settings->metrics_interval_s * SAMPLES_WITHIN * 1000;
    autofree struct sample_point *points = NULL;
    error_auto missing = NULL;
    sandbox_auto sandbox = {0};
    size_t count = 0;
    if (load(worker->db, route, &sandbox, &missing) < 0)
        return missing->code == ERR_NOT_FOUND ? 0 : error_move(err, &missing);
    if (!principal_reaches(&api->principal, sandbox.team_id) ||
        !sandbox_state_is_live(sandbox.state))
        return 0;
    if (sample_read(worker->db, sandbox.id, now_ms - span_ms, now_ms, &points, &count, &step_ms,
                    err) < 0)
        return -1;
    if (count)
        json_object_set_new(all, route, point_to_json(&sandbox, &points[count - 1]));
    return 0;
}

int e2b_metrics_list(void *context, struct http_request *request, struct http_response *response,
                     struct error **err)
{
    const char *ids = http_query(request, "sandbox_ids");
    autofree char *copy = xstrdup(ids ? ids : "");
    char *rest = copy;
    json_auto_t *all = json_object();
    unsigned count = 0;
    if (!ids || !*ids)
        return error_set_field(err, ERR_INVALID_REQUEST, "sandbox_ids",
                               "sandbox_ids must be ids, separated by commas.");
    for (char *route; (route = strsep(&rest, ","));) {
        route[strcspn(route, "-")] = '\0';
        if (++count > METRICS_OF_MAX)
            return error_set_field(err, ERR_INVALID_REQUEST, "sandbox_ids",
                                   "Give at most %d sandboxes in one request.", METRICS_OF_MAX);
        if (add_last(context, route, all, err) < 0)
            return -1;
    }
    return http_response_json(response, 200, json_pack("{s:O}", "sandboxes", all));
}

/* Read the two times, which may be missing. */
static int read_span(const struct http_request *request, int64_t *from_ms, int64_t *to_ms,
                     struct error **err)
{
    bool has_both = http_query(request, "start") && http_query(request, "end");
    if (e2b_read_second(request, "start", from_ms, err) < 0 ||
        e2b_read_second(request, "end", to_ms, err) < 0)
        return -1;
    return has_both && *from_ms > *to_ms
               ? error_set_field(err, ERR_INVALID_REQUEST, "start", "start must not be after end.")
               : 0;
}

int e2b_sandboxes_metrics(void *context, struct http_request *request,
                          struct http_response *response, struct error **err)
{
    struct api *api = context;
    const struct sandbox *sandbox = &api->access.sandbox;
    autofree struct sample_point *points = NULL;
    size_t count = 0;
    int64_t from_ms = sandbox->created_at_ms, to_ms = clock_now_ms(), step_ms;
    if (read_span(request, &from_ms, &to_ms, err) < 0 ||
        sample_want(api->worker.db, sandbox->id, err) < 0 ||
        sample_read(api->worker.db, sandbox->id, from_ms, to_ms, &points, &count, &step_ms, err) <
            0)
        return -1;
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++)
        json_array_append_new(list, point_to_json(sandbox, &points[i]));
    return http_response_json(response, 200, list);
}
