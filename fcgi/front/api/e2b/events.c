/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Events of sandboxes and their webhooks, translated from /v1 into E2B's form. */
#include <stdio.h>
#include <string.h>

#include "api/api.h"
#include "api/e2b/e2b.h"
#include "api/sandbox_output.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/notify.h"
#include "base/str.h"
#include "webhook/webhook_e2b.h"

#define SECRET_LEAST  16
#define LIMIT_DEFAULT 10
#define LIMIT_MAX     100

/* --- bodies --- */

static int check_url(const json_t *value, const char *pointer, struct error **err)
{
    return webhook_check_url(json_string_value(value), pointer, err);
}

static bool is_type(const char *text)
{
    for (size_t i = 0; i < WEBHOOK_E2B_TYPES; i++)
        if (str_equal(webhook_e2b_types[i], text))
            return true;
    return false;
}

static int check_type(const json_t *value, const char *pointer, struct error **err)
{
    if (is_type(json_string_value(value)))
        return 0;
    return error_set_field(
        err, ERR_INVALID_REQUEST, pointer,
        "An event must be sandbox.lifecycle.created, …updated, …paused, …resumed or …killed.");
}

static const struct schema_member type_item = {.type = SCHEMA_STRING, .check = check_type};

#define WEBHOOK_MEMBERS(required_)                   \
    {.name = "name",                                 \
     .type = SCHEMA_STRING,                          \
     .required = required_,                          \
     .min = 1,                                       \
     .max = WEBHOOK_NAME_MAX},                       \
        {.name = "url",                              \
         .type = SCHEMA_STRING,                      \
         .required = required_,                      \
         .min = 1,                                   \
         .max = WEBHOOK_URL_MAX,                     \
         .check = check_url},                        \
        {.name = "enabled", .type = SCHEMA_BOOLEAN}, \
        {.name = "events",                           \
         .type = SCHEMA_ARRAY,                       \
         .required = required_,                      \
         .min = 1,                                   \
         .max = 2 * WEBHOOK_E2B_TYPES,               \
         .item = &type_item},                        \
        {.name = "signatureSecret",                  \
         .type = SCHEMA_STRING,                      \
         .required = required_,                      \
         .min = SECRET_LEAST,                        \
         .max = WEBHOOK_SECRET_MAX},                 \
    {                                                \
        .name = NULL                                 \
    }
const struct schema_member e2b_webhook_schema[] = {WEBHOOK_MEMBERS(true)};
const struct schema_member e2b_webhook_update_schema[] = {WEBHOOK_MEMBERS(false)};

static void read_types(const json_t *types, struct webhook *webhook)
{
    struct event_filter filter = {0};
    size_t at;
    json_t *type;
    json_array_foreach ((json_t *)(uintptr_t)types, at, type) {
        webhook_e2b_kinds(json_string_value(type), &filter);
    }
    event_kinds_text(&filter, webhook->kinds);
}

static void read_input(const json_t *body, struct webhook *webhook)
{
    const char *name = json_string_value(json_object_get(body, "name"));
    const char *url = json_string_value(json_object_get(body, "url"));
    const json_t *enabled = json_object_get(body, "enabled");
    const json_t *types = json_object_get(body, "events");
    if (name)
        snprintf(webhook->name, sizeof webhook->name, "%s", name);
    if (url)
        snprintf(webhook->url, sizeof webhook->url, "%s", url);
    if (enabled)
        webhook->enabled = json_is_true(enabled);
    if (types)
        read_types(types, webhook);
}

/* --- webhooks --- */

static json_t *types_of(const struct webhook *webhook)
{
    json_t *types = json_array();
    for (size_t i = 0; i < WEBHOOK_E2B_TYPES; i++) {
        struct event_filter filter = {0};
        char text[EVENT_KINDS_BYTES];
        webhook_e2b_kinds(webhook_e2b_types[i], &filter);
        event_kinds_text(&filter, text);
        text[strcspn(text, ",")] = '\0';
        if (strstr(webhook->kinds, text))
            json_array_append_new(types, json_string(webhook_e2b_types[i]));
    }
    return types;
}

static json_t *webhook_to_json(const struct webhook *webhook)
{
    return json_pack("{s:s, s:s, s:s, s:o, s:b, s:s, s:o}", "id", webhook->id, "teamId",
                     webhook->team_id, "name", webhook->name, "createdAt",
                     time_to_json(webhook->created_at_ms), "enabled", (int)webhook->enabled, "url",
                     webhook->url, "events", types_of(webhook));
}

/* Notify the process that delivers webhooks. */
static void tell(const struct api *api)
{
    notify_send(api->settings->api_socket, NOTIFY_WEBHOOKS);
}

/* Check that a webhook has E2B's form: webhooks of /v1 sign differently. */
static int check_form(const struct api *api, struct error **err)
{
    return api->access.webhook.form == WEBHOOK_E2B
               ? 0
               : error_set(
                     err, ERR_NOT_FOUND,
                     "There is no such webhook here. For a webhook of /v1, use /v1/webhooks.");
}

int e2b_webhooks_create(void *context, struct http_request *request, struct http_response *response,
                        struct error **err)
{
    struct api *api = context;
    struct webhook webhook = {.enabled = true};
    const char *secret = json_string_value(json_object_get(request->json, "signatureSecret"));
    read_input(request->json, &webhook);
    if (webhook_create_e2b(api->worker.db, api->worker.ring, api->access.team,
                           api->principal.user_id, &webhook, secret, err) < 0)
        return -1;
    tell(api);
    log_context_set("webhook", webhook.id);
    return http_response_json(response, 201, webhook_to_json(&webhook));
}

int e2b_webhooks_list(void *context, struct http_request *request, struct http_response *response,
                      struct error **err)
{
    struct api *api = context;
    autofree struct webhook *webhooks = NULL;
    unsigned count = 0;
    (void)request;
    if (webhook_list(api->worker.db, api->access.team->id, NULL, WEBHOOKS_PER_TEAM, &webhooks,
                     &count, err) < 0)
        return -1;
    json_t *list = json_array();
    for (unsigned i = 0; i < count; i++)
        if (webhooks[i].form == WEBHOOK_E2B)
            json_array_append_new(list, webhook_to_json(&webhooks[i]));
    return http_response_json(response, 200, list);
}

int e2b_webhooks_show(void *context, struct http_request *request, struct http_response *response,
                      struct error **err)
{
    struct api *api = context;
    (void)request;
    if (check_form(api, err) < 0)
        return -1;
    return http_response_json(response, 200, webhook_to_json(&api->access.webhook));
}

int e2b_webhooks_update(void *context, struct http_request *request, struct http_response *response,
                        struct error **err)
{
    struct api *api = context;
    const json_t *body = request->json;
    struct webhook *webhook = &api->access.webhook, given = {0};
    if (check_form(api, err) < 0)
        return -1;
    read_input(body, &given);
    const struct webhook_change change = {
        .url = json_object_get(body, "url") ? given.url : NULL,
        .kinds = json_object_get(body, "events") ? given.kinds : NULL,
        .name = json_object_get(body, "name") ? given.name : NULL,
        .enabled = json_object_get(body, "enabled") ? &given.enabled : NULL,
        .secret = json_string_value(json_object_get(body, "signatureSecret")),
    };
    if (webhook_update(api->worker.db, api->worker.ring, webhook->id, &change, webhook, err) < 0)
        return -1;
    tell(api);
    return http_response_json(response, 200, webhook_to_json(webhook));
}

int e2b_webhooks_delete(void *context, struct http_request *request, struct http_response *response,
                        struct error **err)
{
    return check_form(context, err) < 0 ? -1 : webhooks_delete(context, request, response, err);
}

/* --- events --- */

struct asked {
    struct event_filter filter;
    const char *team_ids[1];
    uint64_t offset, limit;
    bool oldest_first;
};

static int read_number(const struct http_request *request, const char *name, uint64_t least,
                       uint64_t most, uint64_t *value, struct error **err)
{
    const char *text = http_query(request, name);
    if (!text || str_parse_u64(text, least, most, value) == 0)
        return 0;
    return error_set_field(err, ERR_INVALID_REQUEST, name, "%s must be a number from %llu to %llu.",
                           name, (unsigned long long)least, (unsigned long long)most);
}

/* Find a sandbox by route token or id, including deleted ones. */
static int find_sandbox(struct api *api, const char *given, char id[ID_SIZE], struct error **err)
{
    autofree char *route = xstrndup(given, strcspn(given, "-"));
    sandbox_auto sandbox = {0};
    error_auto missing = NULL;
    if (route_token_is_valid(route) &&
        sandbox_id_of_route(api->worker.db, route, id, &missing) == 0 &&
        sandbox_get_any(api->worker.db, id, false, &sandbox, &missing) == 0 &&
        str_equal(sandbox.team_id, api->access.team->id))
        return 0;
    if (missing && missing->code != ERR_NOT_FOUND)
        return error_move(err, &missing);
    return error_set(err, ERR_NOT_FOUND, "There is no such sandbox.");
}

/* Read the comma-separated list of types. */
static int read_wanted(const struct http_request *request, struct event_filter *filter,
                       struct error **err)
{
    const char *types = http_query(request, "types");
    autofree char *copy = xstrdup(types ? types : "");
    char *rest = NULL;
    if (!types)
        for (size_t i = 0; i < WEBHOOK_E2B_TYPES; i++)
            webhook_e2b_kinds(webhook_e2b_types[i], filter);
    for (char *type = strtok_r(copy, ",", &rest); type; type = strtok_r(NULL, ",", &rest)) {
        if (!is_type(type))
            return error_set_field(err, ERR_INVALID_REQUEST, "types",
                                   "\"%.64s\" is not an event type.", type);
        webhook_e2b_kinds(type, filter);
    }
    return 0;
}

static int read_asked(struct api *api, const struct http_request *request, struct asked *asked,
                      struct error **err)
{
    const char *order = http_query(request, "orderAsc");
    *asked = (struct asked){.limit = LIMIT_DEFAULT, .oldest_first = str_equal(order, "true")};
    asked->team_ids[0] = api->access.team->id;
    asked->filter.team_ids = asked->team_ids;
    asked->filter.team_count = 1;
    if (order && !asked->oldest_first && !str_equal(order, "false"))
        return error_set_field(err, ERR_INVALID_REQUEST, "orderAsc",
                               "orderAsc must be true or false.");
    if (read_number(request, "limit", 1, LIMIT_MAX, &asked->limit, err) < 0 ||
        read_number(request, "offset", 0, EVENT_OFFSET_MAX, &asked->offset, err) < 0 ||
        read_wanted(request, &asked->filter, err) < 0)
        return -1;
    return request->capture_count
               ? find_sandbox(api, request->captures[0], asked->filter.sandbox_id, err)
               : 0;
}

static int append(struct db *db, const struct event *events, unsigned count, json_t *list,
                  struct error **err)
{
    for (unsigned i = 0; i < count; i++) {
        json_t *json;
        if (webhook_e2b_event(db, &events[i], &json, err) < 0)
            return -1;
        json_array_append_new(list, json);
    }
    return 0;
}

int e2b_events_list(void *context, struct http_request *request, struct http_response *response,
                    struct error **err)
{
    struct api *api = context;
    struct asked asked;
    struct event *events = NULL;
    unsigned count = 0;
    json_auto_t *list = json_array();
    if (read_asked(api, request, &asked, err) < 0)
        return -1;
    if (event_page(api->worker.db, &asked.filter, asked.oldest_first, (unsigned)asked.offset,
                   (unsigned)asked.limit, &events, &count, err) < 0)
        return -1;
    int result = append(api->worker.db, events, count, list, err);
    events_free(events, count);
    return result < 0 ? -1 : http_response_json(response, 200, json_incref(list));
}
