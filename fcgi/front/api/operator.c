/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The deployment for its operators: its status, its teams, and the changes that need no
 * administrator of the machine. */
#include "api/api.h"
#include "api/page.h"
#include "api/query.h"
#include "api/sandbox_output.h"
#include "base/mem.h"
#include "base/str.h"
#include "host/host.h"
#include "overview/overview.h"
#include "overview/overview_db.h"

const struct schema_member operator_team_schema[] = {
    {.name = "plan", .type = SCHEMA_STRING, .required = true, .min = 1, .max = 32},
    {.name = NULL},
};

static const char *const state_choices[] = {"active", "draining", NULL};

const struct schema_member operator_host_schema[] = {
    {.name = "state", .type = SCHEMA_STRING, .required = true, .choices = state_choices},
    {.name = NULL},
};

/* Return the worker pools of this worker's machine. */
static int pools_to_json(const struct api *api, json_t **json, struct error **err)
{
    struct pool_use pools[POOLS_LOOKED_AT_MAX];
    unsigned count;
    if (pools_look(api->settings->pools_dir, pools, &count, err) < 0)
        return -1;
    *json = json_array();
    for (unsigned i = 0; i < count; i++)
        json_array_append_new(*json, json_pack("{s:s, s:I, s:I}", "name", pools[i].name, "workers",
                                               (json_int_t)pools[i].workers, "serving",
                                               (json_int_t)pools[i].serving));
    return 0;
}

int operator_status(void *context, struct http_request *request, struct http_response *response,
                    struct error **err)
{
    struct api *api = context;
    json_t *pools;
    json_auto_t *body = NULL;
    (void)request;
    if (overview_read(api->worker.db, api->settings, &body, err) < 0 ||
        pools_to_json(api, &pools, err) < 0)
        return -1;
    json_object_set_new(body, "pools", pools);
    return http_response_json(response, 200, json_incref(body));
}

int operator_doctor(void *context, struct http_request *request, struct http_response *response,
                    struct error **err)
{
    struct api *api = context;
    int64_t made_at_ms;
    json_t *report;
    (void)request;
    if (overview_report_get(api->worker.db, REPORT_DOCTOR, &made_at_ms, &report, err) < 0)
        return -1;
    return http_response_json(response, 200,
                              json_pack("{s:o, s:o}", "made_at", time_to_json(made_at_ms), "report",
                                        report ? report : json_null()));
}

/* --- teams --- */

static json_t *team_row_to_json(const struct team_row *row)
{
    return json_pack(
        "{s:s, s:s, s:I, s:I, s:I, s:o}", "slug", row->team.slug, "plan", row->team.plan, "members",
        (json_int_t)row->members, "sandboxes", (json_int_t)row->sandboxes, "stopped_sandboxes",
        (json_int_t)row->stopped_sandboxes, "created_at", time_to_json(row->created_at_ms));
}

int operator_teams(void *context, struct http_request *request, struct http_response *response,
                   struct error **err)
{
    struct api *api = context;
    autofree struct team_row *rows = NULL;
    unsigned count;
    uint64_t limit;
    const char *after;
    if (page_read_plain(request, slug_is_valid, &after, &limit, err) < 0 ||
        overview_teams(api->worker.db, after ? after : "", (unsigned)limit + 1, &rows, &count,
                       err) < 0)
        return -1;
    bool more = count > limit;
    json_t *items = JSON_LIST(rows, more ? limit : count, team_row_to_json);
    return http_response_json(response, 200,
                              json_pack("{s:o, s:s*}", "items", items, "next_token",
                                        more ? rows[limit - 1].team.slug : NULL));
}

/* --- sandboxes of all teams --- */

static json_t *sandbox_row_to_json(const struct operated_sandbox *row)
{
    return json_pack("{s:s, s:o, s:s, s:s, s:s, s:I, s:I, s:s, s:o, s:o}", "id", row->id, "name",
                     text_to_json(row->name), "team", row->team, "state", row->state, "template",
                     row->template_slug, "cpu", (json_int_t)row->cpu, "memory_mb",
                     (json_int_t)row->memory_mb, "host", row->host, "created_at",
                     time_to_json(row->created_at_ms), "deadline",
                     time_to_json(row->deadline_at_ms));
}

static bool is_sandbox_id(const char *text)
{
    return id_is_valid("sbx_", text);
}

static int check_filter(struct db *db, const struct http_request *request, struct error **err)
{
    struct team team;
    struct host host;
    bool of_team, of_host;
    if (query_read_team(db, request, &of_team, &team, err) < 0 ||
        query_read_host(db, request, &of_host, &host, err) < 0)
        return -1;
    if (of_host)
        host_deinit(&host);
    return 0;
}

int operator_sandboxes(void *context, struct http_request *request, struct http_response *response,
                       struct error **err)
{
    struct api *api = context;
    autofree struct operated_sandbox *rows = NULL;
    unsigned count;
    uint64_t limit;
    struct operated_filter filter = {.team = query_name(request, "team"),
                                     .host = query_name(request, "host")};
    if (check_filter(api->worker.db, request, err) < 0 ||
        page_read_plain(request, is_sandbox_id, &filter.before, &limit, err) < 0 ||
        overview_sandboxes(api->worker.db, &filter, limit + 1, &rows, &count, err) < 0)
        return -1;
    bool more = count > limit;
    json_t *items = JSON_LIST(rows, more ? limit : count, sandbox_row_to_json);
    return http_response_json(
        response, 200,
        json_pack("{s:o, s:s*}", "items", items, "next_token", more ? rows[limit - 1].id : NULL));
}

int operator_team_update(void *context, struct http_request *request,
                         struct http_response *response, struct error **err)
{
    struct api *api = context;
    struct team team;
    const char *slug = request->captures[0];
    const char *plan = json_string_value(json_object_get(request->json, "plan"));
    if (team_set_plan(api->worker.db, slug, plan, err) < 0 ||
        team_get_by_slug(api->worker.db, slug, &team, err) < 0)
        return -1;
    return http_response_json(response, 200,
                              json_pack("{s:s, s:s}", "slug", team.slug, "plan", team.plan));
}

/* --- hosts --- */

int operator_host_update(void *context, struct http_request *request,
                         struct http_response *response, struct error **err)
{
    struct api *api = context;
    const char *name = request->captures[0];
    const char *state = json_string_value(json_object_get(request->json, "state"));
    enum host_state wanted =
        str_equal(state, host_state_names[HOST_DRAINING]) ? HOST_DRAINING : HOST_ACTIVE;
    if (host_set_state(api->worker.db, name, wanted, err) < 0)
        return -1;
    return http_response_json(response, 200, json_pack("{s:s, s:s}", "name", name, "state", state));
}
