/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Webhooks of a team, and the messages that could not be delivered. */
#include <string.h>

#include "api/api.h"
#include "api/page_list.h"
#include "api/sandbox_output.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/notify.h"
#include "base/str.h"
#include "webhook/webhook_e2b.h"

#define MESSAGES_DEFAULT 50
#define MESSAGES_MAX     200

static int check_url(const json_t *value, const char *pointer, struct error **err)
{
    return webhook_check_url(json_string_value(value), pointer, err);
}

static int check_kind(const json_t *value, const char *pointer, struct error **err)
{
    enum event_kind kind;
    return event_kind_read(json_string_value(value), pointer, &kind, err);
}

static const struct schema_member kind_item = {.type = SCHEMA_STRING, .check = check_kind};

#define URL_MEMBER(required_)                                                  \
    {                                                                          \
        .name = "url", .type = SCHEMA_STRING, .required = required_, .min = 1, \
        .max = WEBHOOK_URL_MAX, .check = check_url                             \
    }
#define KINDS_MEMBER                                                                       \
    {                                                                                      \
        .name = "kinds", .type = SCHEMA_ARRAY, .max = EVENT_KIND_COUNT, .item = &kind_item \
    }
#define ENABLED_MEMBER                            \
    {                                             \
        .name = "enabled", .type = SCHEMA_BOOLEAN \
    }

const struct schema_member webhook_create_schema[] = {
    {.name = "team", .type = SCHEMA_STRING, .min = 1, .max = 63},
    URL_MEMBER(true),
    KINDS_MEMBER,
    ENABLED_MEMBER,
    {.name = NULL},
};

const struct schema_member webhook_update_schema[] = {
    URL_MEMBER(false),
    KINDS_MEMBER,
    ENABLED_MEMBER,
    {.name = NULL},
};

/* --- as JSON --- */

static json_t *kinds_to_json(const char *kinds)
{
    json_t *list = json_array();
    autofree char *copy = xstrdup(kinds);
    char *rest = NULL;
    for (char *name = strtok_r(copy, ",", &rest); name; name = strtok_r(NULL, ",", &rest))
        json_array_append_new(list, json_string(name));
    return list;
}

static json_t *webhook_to_json(const struct webhook *w)
{
    char last_id[EVENT_ID_SIZE];
    return json_pack("{s:s, s:s, s:s, s:s, s:o, s:b, s:s, s:o, s:o, s:o, s:o}", "id", w->id, "team",
                     w->team_slug, "form", webhook_form_names[w->form], "url", w->url, "kinds",
                     kinds_to_json(w->kinds), "enabled", w->enabled, "last_id",
                     event_id_format(w->cursor_id, last_id), "delivered_at",
                     time_to_json(w->delivered_at_ms), "failed_at", time_to_json(w->failed_at_ms),
                     "old_secret_until", time_to_json(w->old_secret_until_ms), "created_at",
                     time_to_json(w->created_at_ms));
}

static json_t *message_to_json(const struct webhook_message *m)
{
    bool waits = m->state == MESSAGE_WAITING;
    json_t *status = m->last_status ? json_integer(m->last_status) : json_null();
    return json_pack("{s:s, s:s, s:s, s:s, s:I, s:o, s:s?, s:o, s:o}", "id", m->id, "message_id",
                     m->message_id, "kind", m->kind, "state", webhook_message_state_names[m->state],
                     "attempts", (json_int_t)m->attempts, "last_status", status, "last_error",
                     *m->last_error ? m->last_error : NULL, "created_at",
                     time_to_json(m->created_at_ms), "next_at",
                     time_to_json(waits ? m->next_at_ms : 0));
}

/* --- webhooks --- */

static void read_kinds(const json_t *kinds, struct event_filter *filter)
{
    size_t i;
    json_t *name;
    json_array_foreach ((json_t *)kinds, i, name) {
        enum event_kind kind;
        if (event_kind_parse(json_string_value(name), &kind) == 0)
            filter->kinds[kind] = true;
    }
}

/* Read the members that a body has. */
static void read_input(const json_t *body, struct webhook *webhook)
{
    const json_t *kinds = json_object_get(body, "kinds"),
                 *enabled = json_object_get(body, "enabled");
    const char *url = json_string_value(json_object_get(body, "url"));
    struct event_filter filter = {0};
    if (url)
        snprintf(webhook->url, sizeof webhook->url, "%s", url);
    if (enabled)
        webhook->enabled = json_is_true(enabled);
    read_kinds(kinds, &filter);
    if (kinds)
        event_kinds_text(&filter, webhook->kinds);
}

/* Check the new kinds of a webhook of E2B's form, which has messages for some kinds only. An empty
 * list means all of these. */
static int check_e2b_kinds(const json_t *kinds, struct webhook *webhook, struct error **err)
{
    struct event_filter filter = {0};
    size_t i;
    json_t *name;
    json_array_foreach ((json_t *)kinds, i, name) {
        enum event_kind kind;
        autofree char *pointer = xasprintf("/kinds/%zu", i);
        if (event_kind_parse(json_string_value(name), &kind) == 0 && !webhook_e2b_has_type(kind))
            return error_set_field(err, ERR_INVALID_REQUEST, pointer,
                                   "A webhook of the form e2b has no messages for this kind of "
                                   "event; create another webhook for it.");
    }
    read_kinds(kinds, &filter);
    webhook_e2b_narrow(&filter);
    event_kinds_text(&filter, webhook->kinds);
    return 0;
}

/* Answer with the webhook and its secret, which is wiped. */
static int answer_with_secret(const struct webhook *webhook, char *secret, int status,
                              struct http_response *response)
{
    json_t *body = webhook_to_json(webhook);
    json_object_set_new(body, "secret", json_string(secret));
    mem_wipe(secret, WEBHOOK_SECRET_SIZE);
    return http_response_json(response, status, body);
}

/* Notify the process that delivers webhooks. */
static void tell(const struct api *api)
{
    notify_send(api->settings->api_socket, NOTIFY_WEBHOOKS);
}

int webhooks_create(void *context, struct http_request *request, struct http_response *response,
                    struct error **err)
{
    struct api *api = context;
    struct webhook webhook = {.enabled = true};
    char secret[WEBHOOK_SECRET_SIZE];
    read_input(request->json, &webhook);
    if (webhook_create(api->worker.db, api->worker.ring, api->access.team, api->principal.user_id,
                       &webhook, secret, err) < 0 ||
        webhook_get(api->worker.db, webhook.id, &webhook, err) < 0) {
        mem_wipe(secret, sizeof secret);
        return -1;
    }
    tell(api);
    log_context_set("webhook", webhook.id);
    return answer_with_secret(&webhook, secret, 201, response);
}

PAGE_ROW(struct webhook);

static int list_rows(struct db *db, const struct page_query *query, void **rows, unsigned *count,
                     struct error **err)
{
    struct webhook *webhooks;
    int result =
        webhook_list(db, query->team_id, query->before, query->limit, &webhooks, count, err);
    *rows = webhooks;
    return result;
}

static json_t *row_to_json(const struct api *api, const void *row)
{
    (void)api;
    return webhook_to_json(row);
}

static const struct page_kind page_kind = {
    .member = "webhooks",
    .row_size = sizeof(struct webhook),
    .list = list_rows,
    .to_json = row_to_json,
};

int webhooks_list(void *context, struct http_request *request, struct http_response *response,
                  struct error **err)
{
    return page_list(context, &page_kind, request, response, err);
}

int webhooks_show(void *context, struct http_request *request, struct http_response *response,
                  struct error **err)
{
    struct api *api = context;
    (void)request;
    (void)err;
    return http_response_json(response, 200, webhook_to_json(&api->access.webhook));
}

int webhooks_update(void *context, struct http_request *request, struct http_response *response,
                    struct error **err)
{
    struct api *api = context;
    const json_t *body = request->json;
    struct webhook *webhook = &api->access.webhook, given = {0};
    read_input(body, &given);
    if (webhook->form == WEBHOOK_E2B &&
        check_e2b_kinds(json_object_get(body, "kinds"), &given, err) < 0)
        return -1;
    const struct webhook_change change = {
        .url = json_object_get(body, "url") ? given.url : NULL,
        .kinds = json_object_get(body, "kinds") ? given.kinds : NULL,
        .enabled = json_object_get(body, "enabled") ? &given.enabled : NULL,
    };
    if (webhook_update(api->worker.db, api->worker.ring, webhook->id, &change, webhook, err) < 0)
        return -1;
    tell(api);
    return http_response_json(response, 200, webhook_to_json(webhook));
}

int webhooks_delete(void *context, struct http_request *request, struct http_response *response,
                    struct error **err)
{
    struct api *api = context;
    (void)request;
    if (webhook_delete(api->worker.db, api->access.webhook.id, err) < 0)
        return -1;
    tell(api);
    response->status = 204;
    return 0;
}

int webhooks_rotate(void *context, struct http_request *request, struct http_response *response,
                    struct error **err)
{
    struct api *api = context;
    struct webhook *webhook = &api->access.webhook;
    char secret[WEBHOOK_SECRET_SIZE];
    (void)request;
    if (webhook->form != WEBHOOK_STANDARD)
        return error_set(err, ERR_INVALID_REQUEST,
                         "The creator of this webhook chose its secret; change it with PATCH "
                         "/events/webhooks/%s.",
                         webhook->id);
    if (webhook_rotate(api->worker.db, api->worker.ring, webhook->id, secret, err) < 0 ||
        webhook_get(api->worker.db, webhook->id, webhook, err) < 0) {
        mem_wipe(secret, sizeof secret);
        return -1;
    }
    return answer_with_secret(webhook, secret, 200, response);
}

/* --- messages --- */

static int answer_message(struct api *api, const char *id, int status,
                          struct http_response *response, struct error **err)
{
    struct webhook_message *message;
    if (webhook_message_get(api->worker.db, api->access.webhook.id, id, &message, err) < 0)
        return -1;
    json_t *body = message_to_json(message);
    webhook_messages_free(message, 1);
    return http_response_json(response, status, body);
}

static int no_message(struct error **err)
{
    return error_set(err, ERR_NOT_FOUND, "The webhook has no such message.");
}

int webhooks_test(void *context, struct http_request *request, struct http_response *response,
                  struct error **err)
{
    struct api *api = context;
    char id[ID_SIZE];
    (void)request;
    if (!api->access.webhook.enabled)
        return error_set_field(err, ERR_INVALID_REQUEST, "/enabled",
                               "The webhook is disabled; enable it first.");
    if (webhook_test(api->worker.db, api->access.webhook.id, id, err) < 0)
        return -1;
    tell(api);
    return answer_message(api, id, 202, response, err);
}

int webhook_messages_show(void *context, struct http_request *request,
                          struct http_response *response, struct error **err)
{
    const char *id = request->captures[1];
    return id_is_valid("whm_", id) ? answer_message(context, id, 200, response, err)
                                   : no_message(err);
}

int webhook_messages_resend(void *context, struct http_request *request,
                            struct http_response *response, struct error **err)
{
    struct api *api = context;
    const char *id = request->captures[1];
    if (!id_is_valid("whm_", id))
        return no_message(err);
    if (webhook_message_resend(api->worker.db, api->access.webhook.id, id, err) < 0)
        return -1;
    tell(api);
    return answer_message(api, id, 202, response, err);
}

int webhook_messages_resend_all(void *context, struct http_request *request,
                                struct http_response *response, struct error **err)
{
    struct api *api = context;
    unsigned resent, left;
    (void)request;
    if (webhook_resend_dead(api->worker.db, api->access.webhook.id, &resent, &left, err) < 0)
        return -1;
    tell(api);
    return http_response_json(response, 202,
                              json_pack("{s:i, s:i}", "resent", (int)resent, "left", (int)left));
}

int webhook_messages_list(void *context, struct http_request *request,
                          struct http_response *response, struct error **err)
{
    struct api *api = context;
    const char *limit = http_query(request, "limit"), *before = http_query(request, "before");
    uint64_t most = MESSAGES_DEFAULT;
    struct webhook_message *list;
    unsigned count;
    if (limit && str_parse_u64(limit, 1, MESSAGES_MAX, &most) < 0)
        return error_set_field(err, ERR_INVALID_REQUEST, "limit",
                               "limit must be a number from 1 to %d.", MESSAGES_MAX);
    if (before && !id_is_valid("whm_", before))
        return error_set_field(err, ERR_INVALID_REQUEST, "before",
                               "before must be the id of a message, whm_ and 26 characters.");
    if (webhook_message_list(api->worker.db, api->access.webhook.id, before, (unsigned)most, &list,
                             &count, err) < 0)
        return -1;
    json_t *messages = JSON_LIST(list, count, message_to_json);
    webhook_messages_free(list, count);
    return http_response_json(response, 200, json_pack("{s:o}", "messages", messages));
}
