/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "api/api.h"
#include "api/page_list.h"
#include "api/sandbox_output.h"
#include "base/log.h"
#include "checkpoint/checkpoint_removal.h"

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
    {.name = "name", .type = SCHEMA_STRING, .check = check_name},
    {.name = "memory", .type = SCHEMA_BOOLEAN},
    {.name = NULL},
};

static json_t *checkpoint_to_json(const struct checkpoint *c)
{
    const char *sandbox_name = *c->sandbox_name ? c->sandbox_name : NULL;
    json_t *json = json_pack(
        "{s:s, s:s, s:s?, s:s, s:s, s:I, s:b, s:I, s:s, s:s, s:I, s:I, s:I, s:o,"
        " s:s?}",
        "id", c->id, "team", c->team_slug, "sandbox_name", sandbox_name, "sandbox_id",
        c->sandbox_id, "name", c->name, "version", (json_int_t)c->version, "memory", (int)c->memory,
        "size_mb", (json_int_t)c->size_mb, "template", c->template_slug, "template_version",
        c->template_version_id, "cpu", (json_int_t)c->cpu, "memory_mb", (json_int_t)c->memory_mb,
        "disk_gb", (json_int_t)c->disk_gb, "created_at", time_to_json(c->created_at_ms),
        "parent_id", *c->parent_id ? c->parent_id : NULL);
    if (c->cleanup_at_ms)
        json_object_set_new(json, "cleanup_at", time_to_json(c->cleanup_at_ms));
    return json;
}

int checkpoints_create(void *context, struct http_request *request, struct http_response *response,
                       struct error **err)
{
    struct api *api = context;
    struct checkpoint *checkpoint = &api->access.checkpoint;
    const struct checkpoint_create wanted = {
        .user_id = api->principal.user_id,
        .name = json_string_value(json_object_get(request->json, "name")),
        .memory = json_is_true(json_object_get(request->json, "memory")),
        .claim = api_claim,
        .claim_context = api,
    };
    if (!api->access.made &&
        sandbox_checkpoint(&api->worker, api->access.sandbox.id, &wanted, checkpoint, err) < 0)
        return -1;
    log_context_set("checkpoint", checkpoint->id);
    return http_response_json(response, 201, checkpoint_to_json(checkpoint));
}

PAGE_ROW(struct checkpoint);

static int list_rows(struct db *db, const struct page_query *query, void **rows, unsigned *count,
                     struct error **err)
{
    struct checkpoint *checkpoints;
    const struct checkpoint_filter filter = {
        .team_id = query->team_id,
        .sandbox_id = query->page->sandbox_id,
        .name = query->page->name,
        .before = query->before,
        .limit = query->limit,
    };
    int result = checkpoint_list(db, &filter, &checkpoints, count, err);
    *rows = checkpoints;
    return result;
}

static json_t *row_to_json(const struct api *api, const void *row)
{
    (void)api;
    return checkpoint_to_json(row);
}

static const struct page_kind checkpoints_page = {
    .member = "checkpoints",
    .row_size = sizeof(struct checkpoint),
    .list = list_rows,
    .to_json = row_to_json,
};

int checkpoints_list(void *context, struct http_request *request, struct http_response *response,
                     struct error **err)
{
    return page_list(context, &checkpoints_page, request, response, err);
}

int checkpoints_show(void *context, struct http_request *request, struct http_response *response,
                     struct error **err)
{
    struct api *api = context;
    (void)request;
    (void)err;
    return http_response_json(response, 200, checkpoint_to_json(&api->access.checkpoint));
}

int checkpoints_delete(void *context, struct http_request *request, struct http_response *response,
                       struct error **err)
{
    struct api *api = context;
    (void)request;
    if (checkpoint_delete(&api->worker, api->access.checkpoint.id, err) < 0)
        return -1;
    response->status = 204;
    return 0;
}
