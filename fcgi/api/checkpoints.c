/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdlib.h>
#include <string.h>

#include "api/api.h"
#include "api/page.h"
#include "api/sandbox_output.h"
#include "base/log.h"
#include "base/mem.h"

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
        if (checkpoint_get(api->service.db, id, checkpoint, err) < 0)
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
    if (checkpoint_get_any(api->service.db, api->idempotency->sandbox_id, false, checkpoint,
                           &gone) < 0)
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
        sandbox_checkpoint(&api->service, sandbox.id, &wanted, &checkpoint, &quota, err) < 0)
        return api_refuse(request, response, &quota, err);
    log_context_set("checkpoint", checkpoint.id);
    return http_response_json(response, 201, checkpoint_to_json(&checkpoint));
}

static int newest_first(const void *a, const void *b)
{
    return strcmp(((const struct checkpoint *)b)->id, ((const struct checkpoint *)a)->id);
}

/* The rows of the page and one more when there is a next one. */
static int read_rows(struct db *db, const struct page *page, struct checkpoint **list,
                     unsigned *count, struct error **err)
{
    *list = NULL;
    *count = 0;
    for (unsigned i = 0; i < page->team_count; i++) {
        autofree struct checkpoint *rows = NULL;
        unsigned found;
        if (checkpoint_list(db, page->teams[i]->id, page->sandbox_id,
                            *page->before ? page->before : NULL, page->limit + 1, &rows, &found,
                            err) < 0)
            return -1;
        if (!found)
            continue;
        *list = xreallocarray(*list, *count + found, sizeof **list);
        memcpy(*list + *count, rows, found * sizeof *rows);
        *count += found;
        qsort(*list, *count, sizeof **list, newest_first);
        if (*count > page->limit + 1)
            *count = page->limit + 1;
    }
    return 0;
}

int checkpoints_list(void *context, const struct route *route, struct http_request *request,
                     struct http_response *response, struct error **err)
{
    struct api *api = context;
    autofree struct checkpoint *list = NULL;
    unsigned count = 0;
    struct page page;
    (void)route;
    if (page_read(&api->principal, api->service.ring, request, &page, err) < 0)
        return -1;
    json_auto_t *body = json_object();
    json_t *rows = json_array();
    json_object_set_new(body, "checkpoints", rows);
    int result = read_rows(api->service.db, &page, &list, &count, err);
    for (unsigned i = 0; i < count && i < page.limit; i++)
        json_array_append_new(rows, checkpoint_to_json(&list[i]));
    if (result == 0 && count > page.limit)
        result = page_write_next(&page, api->service.ring, list[page.limit - 1].id, body, err);
    page_deinit(&page);
    return result < 0 ? -1 : http_response_json(response, 200, json_incref(body));
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
        checkpoint_delete(&api->service, checkpoint.id, err) < 0)
        return -1;
    response->status = 204;
    return 0;
}
