/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>

#include "api/api.h"
#include "api/page_list.h"
#include "api/sandbox_output.h"
#include "base/log.h"

static int check_name(const json_t *value, const char *pointer, struct error **err)
{
    if (checkpoint_name_is_valid(json_string_value(value)))
        return 0;
    return error_set_field(err, ERR_INVALID_REQUEST, pointer,
                           "A checkpoint's name is 1 to %d letters, digits, dots, underscores and "
                           "hyphens, beginning with a letter or a digit.",
                           CHECKPOINT_NAME_MAX);
}

const struct schema_member checkpoint_create_schema[] = {
    {.name = "name", .type = SCHEMA_STRING, .required = true, .check = check_name},
    {.name = NULL},
};

static json_t *checkpoint_to_json(const struct checkpoint *c)
{
    json_t *json = json_pack("{s:s, s:s, s:s, s:s, s:I, s:s, s:s, s:I, s:I, s:I, s:o}", "id", c->id,
                             "team", c->team_slug, "sandbox_id", c->sandbox_id, "name", c->name,
                             "size_mb", (json_int_t)c->size_mb, "template", c->template_slug,
                             "template_version", c->template_version_id, "cpu", (json_int_t)c->cpu,
                             "memory_mb", (json_int_t)c->memory_mb, "disk_gb",
                             (json_int_t)c->disk_gb, "created_at", time_to_json(c->created_at_ms));
    if (c->cleanup_at_ms)
        json_object_set_new(json, "cleanup_at", time_to_json(c->cleanup_at_ms));
    return json;
}

/* The checkpoint that the path names, if this key reaches its team. */
static int find(struct api *api, const struct http_request *request, struct checkpoint *checkpoint,
                struct error **err)
{
    const char *id = request->captures[0];
    if (id_is_valid("ckp_", id)) {
        if (checkpoint_get(api->worker.db, id, checkpoint, err) < 0)
            return -1;
        if (principal_reaches(&api->principal, checkpoint->team_id))
            return 0;
    }
    return error_set(err, ERR_NOT_FOUND, "There is no such checkpoint.");
}

/* What an earlier attempt with the same Idempotency-Key made, if it is still there; id "": none. */
static int find_earlier(struct api *api, struct checkpoint *checkpoint, struct error **err)
{
    error_auto gone = NULL;
    *checkpoint = (struct checkpoint){0};
    if (!api->idempotency || !id_is_valid("ckp_", api->idempotency->sandbox_id))
        return 0;
    if (checkpoint_get_any(api->worker.db, api->idempotency->sandbox_id, false, checkpoint, &gone) <
        0)
        return gone->code == ERR_NOT_FOUND ? 0 : error_move(err, &gone);
    if (!strcmp(checkpoint->state, "creating"))
        return error_set_field(err, ERR_REQUEST_IN_PROGRESS, "Idempotency-Key",
                               "The first request with this Idempotency-Key is still being "
                               "settled.");
    if (strcmp(checkpoint->state, "ready") != 0)
        *checkpoint = (struct checkpoint){0};
    return 0;
}

int checkpoints_create(void *context, const struct route *route, struct http_request *request,
                       struct http_response *response, struct error **err)
{
    struct api *api = context;
    struct quota quota = {{0}, {0}, {0}};
    sandbox_auto sandbox = {0};
    struct checkpoint checkpoint;
    const struct checkpoint_create wanted = {
        .user_id = api->principal.user_id,
        .name = json_string_value(json_object_get(request->json, "name")),
        .claim = api->idempotency ? api_claim : NULL,
        .claim_context = (void *)api->idempotency,
    };
    (void)route;
    if (api_sandbox(api, request, &sandbox, err) < 0 || find_earlier(api, &checkpoint, err) < 0)
        return -1;
    if (!checkpoint.id[0] &&
        sandbox_checkpoint(&api->worker, sandbox.id, &wanted, &checkpoint, &quota, err) < 0)
        return api_refuse(request, response, &quota, err);
    log_context_set("checkpoint", checkpoint.id);
    return http_response_json(response, 201, checkpoint_to_json(&checkpoint));
}

PAGE_ROW(struct checkpoint);

static int list_rows(struct db *db, const struct page_query *query, void **rows, unsigned *count,
                     struct error **err)
{
    struct checkpoint *checkpoints;
    int result = checkpoint_list(db, query->team_id, query->page->sandbox_id, query->before,
                                 query->limit, &checkpoints, count, err);
    *rows = checkpoints;
    return result;
}

static json_t *row_to_json(const struct api *api, const void *row)
{
    (void)api;
    return checkpoint_to_json(row);
}

static const struct page_kind page_kind = {
    .member = "checkpoints",
    .row_size = sizeof(struct checkpoint),
    .list = list_rows,
    .to_json = row_to_json,
};

int checkpoints_list(void *context, const struct route *route, struct http_request *request,
                     struct http_response *response, struct error **err)
{
    (void)route;
    return page_list(context, &page_kind, request, response, err);
}

int checkpoints_show(void *context, const struct route *route, struct http_request *request,
                     struct http_response *response, struct error **err)
{
    struct checkpoint checkpoint;
    (void)route;
    if (find(context, request, &checkpoint, err) < 0)
        return -1;
    return http_response_json(response, 200, checkpoint_to_json(&checkpoint));
}

int checkpoints_delete(void *context, const struct route *route, struct http_request *request,
                       struct http_response *response, struct error **err)
{
    struct api *api = context;
    struct checkpoint checkpoint;
    (void)route;
    if (find(api, request, &checkpoint, err) < 0 ||
        checkpoint_delete(&api->worker, checkpoint.id, err) < 0)
        return -1;
    response->status = 204;
    return 0;
}
