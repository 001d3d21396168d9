/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "api/volumes.h"
#include "api/api.h"
#include "api/page_list.h"
#include "api/sandbox_output.h"
#include "base/log.h"
#include "volume/volume_store.h"

int volume_check_name(const json_t *value, const char *pointer, struct error **err)
{
    if (volume_name_is_valid(json_string_value(value)))
        return 0;
    return error_set_field(err, ERR_INVALID_REQUEST, pointer,
                           "A volume's name is 1 to 63 lower-case letters, digits, underscores and "
                           "hyphens, and begins neither with a hyphen nor with vol_, as ids do.");
}

const struct schema_member volume_create_schema[] = {
    {.name = "team", .type = SCHEMA_STRING, .min = 1, .max = 63},
    {.name = "name",
     .type = SCHEMA_STRING,
     .required = true,
     .min = 1,
     .max = VOLUME_NAME_MAX,
     .check = volume_check_name},
    {.name = NULL},
};

static json_t *volume_to_json(const struct volume *volume)
{
    json_t *attached = json_array(), *names = json_array();
    for (unsigned i = 0; i < volume->attached_count; i++) {
        json_array_append_new(attached, json_string(volume->attached_to[i].id));
        json_array_append_new(names, json_string(volume_user_called(&volume->attached_to[i])));
    }
    return json_pack("{s:s, s:s, s:s, s:I, s:o, s:o, s:o}", "id", volume->id, "team",
                     volume->team_slug, "name", volume->name, "size_gb",
                     (json_int_t)volume->size_gb, "created_at", time_to_json(volume->created_at_ms),
                     "attached_to", attached, "attached_names", names);
}

/* Create a volume. If an earlier attempt has inserted its row, finish this volume, unless it was
 * given up. */
static int create(struct api *api, const struct volume_create *wanted, struct error **err)
{
    struct volume *volume = &api->access.volume;
    error_auto failure = NULL;
    if (api->access.made) {
        volume_deinit(volume);
        if (volume_create_again(&api->worker, api->idempotency->made_id, volume, &failure) == 0)
            return 0;
        if (failure->code != ERR_NOT_FOUND)
            return error_move(err, &failure);
    }
    return volume_create(&api->worker, wanted, volume, err);
}

int volumes_create(void *context, struct http_request *request, struct http_response *response,
                   struct error **err)
{
    struct api *api = context;
    struct volume_create wanted = {
        .team = api->access.team,
        .user_id = api->principal.user_id,
        .name = json_string_value(json_object_get(request->json, "name")),
        .claim = api_claim,
        .claim_context = api,
    };
    if (create(api, &wanted, err) < 0)
        return -1;
    return http_response_json(response, 201, volume_to_json(&api->access.volume));
}

PAGE_ROW(struct volume);

static int list_rows(struct db *db, const struct page_query *query, void **rows, unsigned *count,
                     struct error **err)
{
    struct volume *volumes;
    int result = volume_list(db, query->team_id, query->before, query->limit, &volumes, count, err);
    *rows = volumes;
    return result;
}

static int complete_rows(struct db *db, void *rows, unsigned count, struct error **err)
{
    return volume_read_attached(db, rows, count, err);
}

static json_t *row_to_json(const struct api *api, const void *row)
{
    (void)api;
    return volume_to_json(row);
}

static void row_deinit(void *row)
{
    volume_deinit(row);
}

static const struct page_kind page_kind = {
    .member = "volumes",
    .row_size = sizeof(struct volume),
    .list = list_rows,
    .complete = complete_rows,
    .to_json = row_to_json,
    .deinit = row_deinit,
};

int volumes_list(void *context, struct http_request *request, struct http_response *response,
                 struct error **err)
{
    return page_list(context, &page_kind, request, response, err);
}

int volumes_show(void *context, struct http_request *request, struct http_response *response,
                 struct error **err)
{
    struct api *api = context;
    struct volume *volume = &api->access.volume;
    (void)request;
    if (volume_read_attached(api->worker.db, volume, 1, err) < 0)
        return -1;
    return http_response_json(response, 200, volume_to_json(volume));
}

int volumes_delete(void *context, struct http_request *request, struct http_response *response,
                   struct error **err)
{
    struct api *api = context;
    const char *id = api->access.volume.id;
    (void)request;
    log_context_set("volume", id);
    if (volume_delete(&api->worker, id, err) < 0)
        return -1;
    response->status = 204;
    return 0;
}
