/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "api/api.h"
#include "api/network_input.h"
#include "api/page_list.h"
#include "api/sandbox_input.h"
#include "api/sandbox_output.h"
#include "base/log.h"
#include "base/mem.h"

json_t *quota_to_json(const struct quota *quota)
{
    const struct quota_amount *amounts[] = {&quota->limits, &quota->usage, &quota->reservation};
    const char *const names[] = {"limits", "usage", "reservation"};
    json_t *json = json_object();
    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        json_object_set_new(json, names[i],
                            json_pack("{s:I, s:I, s:I}", "sandboxes",
                                      (json_int_t)amounts[i]->sandboxes, "vcpus",
                                      (json_int_t)amounts[i]->vcpus, "memory_mb",
                                      (json_int_t)amounts[i]->memory_mb));
    return json;
}

int api_refuse(struct http_request *request, struct http_response *response,
               const struct quota *quota, struct error **err)
{
    if ((*err)->code != ERR_SANDBOX_QUOTA_EXCEEDED)
        return -1;
    http_response_error(response, request, *err);
    json_object_set_new(response->json, "quota", quota_to_json(quota));
    error_clear(err);
    return 0;
}

int api_new_session(struct api *api, const struct sandbox *sandbox, json_t **json,
                    struct error **err)
{
    struct session session;
    if (session_issue(api->worker.ring, sandbox->id, api->settings->session_ttl_s, &session, err) <
        0)
        return -1;
    *json = session_to_json(api->settings, sandbox, &session);
    session_wipe(&session);
    return 0;
}

int api_claim(struct db *db, const char *id, void *context, struct error **err)
{
    return idempotency_attach(db, context, id, err);
}

/* What an earlier attempt with the same Idempotency-Key made, if it is still there. */
static int find_earlier(struct api *api, struct sandbox *sandbox, struct error **err)
{
    if (!api->idempotency || !api->idempotency->sandbox_id[0])
        return 0;
    error_auto gone = NULL;
    if (sandbox_get(api->worker.db, api->idempotency->sandbox_id, sandbox, &gone) < 0)
        return gone->code == ERR_NOT_FOUND ? 0 : error_move(err, &gone);
    if (sandbox->state != SANDBOX_CREATING && sandbox->state != SANDBOX_RESTORING)
        return 0;
    return error_set_field(err, ERR_REQUEST_IN_PROGRESS, "Idempotency-Key",
                           "The first request with this Idempotency-Key is still being settled.");
}

static int create(struct api *api, const struct http_request *request, struct sandbox *sandbox,
                  struct quota *quota, struct error **err)
{
    struct sandbox_input input = {0};
    autofree char *network = NULL;
    const char *team = json_string_value(json_object_get(request->json, "team"));
    input.create.user_id = api->principal.user_id;
    input.create.claim = api->idempotency ? api_claim : NULL;
    input.create.claim_context = (void *)api->idempotency;
    int result = 0;
    if (principal_team(&api->principal, team, "/team", &input.create.team, err) < 0 ||
        sandbox_input_read(request->json, &input, err) < 0 ||
        network_input_read(api, request->json, &network, err) < 0)
        result = -1;
    input.create.network = network;
    if (result == 0 && sandbox_create(&api->worker, &input.create, sandbox, quota, err) < 0)
        result = -1;
    sandbox_input_deinit(&input);
    return result;
}

int sandboxes_create(void *context, const struct route *route, struct http_request *request,
                     struct http_response *response, struct error **err)
{
    struct api *api = context;
    struct quota quota = {{0}, {0}, {0}};
    sandbox_auto sandbox = {0};
    json_t *session;
    (void)route;
    if (find_earlier(api, &sandbox, err) < 0)
        return -1;
    if (!sandbox.id[0] && create(api, request, &sandbox, &quota, err) < 0)
        return api_refuse(request, response, &quota, err);
    log_context_set("sandbox", sandbox.id);
    if (api_new_session(api, &sandbox, &session, err) < 0)
        return -1;
    json_t *body = sandbox_to_json(api->settings, &sandbox);
    json_object_set_new(body, "session", session);
    return http_response_json(response, 201, body);
}

PAGE_ROW(struct sandbox);

static int list_rows(struct db *db, const struct page_query *query, void **rows, unsigned *count,
                     struct error **err)
{
    struct sandbox *sandboxes;
    int result = sandbox_list(db, query->team_id, &query->page->filter, query->before, query->limit,
                              &sandboxes, count, err);
    *rows = sandboxes;
    return result;
}

static json_t *row_to_json(const struct api *api, const void *row)
{
    return sandbox_to_json(api->settings, row);
}

static void row_deinit(void *row)
{
    sandbox_deinit(row);
}

static const struct page_kind page_kind = {
    .member = "sandboxes",
    .row_size = sizeof(struct sandbox),
    .list = list_rows,
    .to_json = row_to_json,
    .deinit = row_deinit,
};

int sandboxes_list(void *context, const struct route *route, struct http_request *request,
                   struct http_response *response, struct error **err)
{
    (void)route;
    return page_list(context, &page_kind, request, response, err);
}

int sandboxes_show(void *context, const struct route *route, struct http_request *request,
                   struct http_response *response, struct error **err)
{
    struct api *api = context;
    sandbox_auto sandbox = {0};
    (void)route;
    if (api_sandbox(api, request, &sandbox, err) < 0)
        return -1;
    return http_response_json(response, 200, sandbox_to_json(api->settings, &sandbox));
}

int sandboxes_update(void *context, const struct route *route, struct http_request *request,
                     struct http_response *response, struct error **err)
{
    struct api *api = context;
    struct sandbox_update update;
    sandbox_auto sandbox = {0}, updated = {0};
    (void)route;
    sandbox_update_read(request->json, &update);
    if (api_sandbox(api, request, &sandbox, err) < 0 ||
        sandbox_update(&api->worker, sandbox.id, &update, &updated, err) < 0)
        return -1;
    return http_response_json(response, 200, sandbox_to_json(api->settings, &updated));
}

int sandboxes_delete(void *context, const struct route *route, struct http_request *request,
                     struct http_response *response, struct error **err)
{
    struct api *api = context;
    sandbox_auto sandbox = {0};
    (void)route;
    if (api_sandbox(api, request, &sandbox, err) < 0 ||
        sandbox_destroy(&api->worker, sandbox.id, err) < 0)
        return -1;
    response->status = 204;
    return 0;
}

int sandboxes_pause(void *context, const struct route *route, struct http_request *request,
                    struct http_response *response, struct error **err)
{
    struct api *api = context;
    sandbox_auto sandbox = {0}, paused = {0};
    (void)route;
    if (api_sandbox(api, request, &sandbox, err) < 0 ||
        sandbox_pause(&api->worker, sandbox.id, &paused, err) < 0)
        return -1;
    return http_response_json(response, 200, sandbox_to_json(api->settings, &paused));
}

int sandboxes_resume(void *context, const struct route *route, struct http_request *request,
                     struct http_response *response, struct error **err)
{
    struct api *api = context;
    sandbox_auto sandbox = {0}, resumed = {0};
    struct quota quota = {{0}, {0}, {0}};
    uint64_t timeout_s = (uint64_t)json_integer_value(json_object_get(request->json, "timeout"));
    (void)route;
    if (api_sandbox(api, request, &sandbox, err) < 0)
        return -1;
    if (sandbox_resume(&api->worker, sandbox.id, timeout_s, &resumed, &quota, err) < 0)
        return api_refuse(request, response, &quota, err);
    json_t *session;
    if (api_new_session(api, &resumed, &session, err) < 0)
        return -1;
    return http_response_json(response, 200,
                              json_pack("{s:o, s:o}", "session", session, "sandbox",
                                        sandbox_to_json(api->settings, &resumed)));
}
