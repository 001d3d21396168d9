/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Secrets of a team. No answer has a value. */
#include "api/api.h"
#include "api/sandbox_output.h"
#include "network/egress_rule.h"
#include "network/policy_entry.h"
#include "secret/secret.h"

static const struct schema_member host_item = {
    .type = SCHEMA_STRING, .min = 1, .max = POLICY_HOST_MAX + 2};

const struct schema_member secret_put_schema[] = {
    {.name = "team", .type = SCHEMA_STRING, .min = 1, .max = 63},
    {.name = "value",
     .type = SCHEMA_STRING,
     .min = 1,
     .max = SECRET_VALUE_MAX,
     .check = secret_check_value},
    {.name = "hosts",
     .type = SCHEMA_ARRAY,
     .min = 1,
     .max = SECRET_HOSTS_MAX,
     .item = &host_item,
     .check = secret_check_hosts},
    {.name = NULL},
};

static json_t *secret_to_json(const struct secret *secret)
{
    return json_pack("{s:s, s:s, s:O, s:I, s:o, s:o, s:o}", "name", secret->name, "team",
                     secret->team_slug, "hosts", secret->hosts, "version",
                     (json_int_t)secret->version, "created_at", time_to_json(secret->created_at_ms),
                     "updated_at", time_to_json(secret->updated_at_ms), "last_used_at",
                     time_to_json(secret->used_at_ms));
}

static int no_secret(struct error **err)
{
    return error_set(err, ERR_NOT_FOUND, "There is no such secret.");
}

int secrets_list(void *context, struct http_request *request, struct http_response *response,
                 struct error **err)
{
    struct api *api = context;
    struct secret *secrets;
    unsigned count;
    (void)request;
    if (secret_list(api->worker.db, api->access.team->id, &secrets, &count, err) < 0)
        return -1;
    json_t *list = JSON_LIST(secrets, count, secret_to_json);
    secrets_free(secrets, count);
    return http_response_json(response, 200, json_pack("{s:o}", "secrets", list));
}

int secrets_show(void *context, struct http_request *request, struct http_response *response,
                 struct error **err)
{
    struct api *api = context;
    struct secret secret = {0};
    if (!egress_secret_name_is_valid(request->captures[0]))
        return no_secret(err);
    if (secret_get(api->worker.db, api->access.team->id, request->captures[0], &secret, err) < 0)
        return -1;
    json_t *body = secret_to_json(&secret);
    secret_deinit(&secret);
    return http_response_json(response, 200, body);
}

int secrets_put(void *context, struct http_request *request, struct http_response *response,
                struct error **err)
{
    struct api *api = context;
    struct secret secret = {0};
    bool created;
    const struct secret_change change = {
        .name = request->captures[0],
        .value = json_string_value(json_object_get(request->json, "value")),
        .hosts = json_object_get(request->json, "hosts"),
    };
    if (!egress_secret_name_is_valid(change.name))
        return error_set_field(
            err, ERR_INVALID_REQUEST, "name",
            "The name of a secret is 1 to %d letters, digits, hyphens and underscores.",
            SECRET_NAME_MAX);
    if (secret_put(api->worker.db, api->worker.ring, api->access.team, api->principal.user_id,
                   &change, &secret, &created, err) < 0)
        return -1;
    json_t *body = secret_to_json(&secret);
    secret_deinit(&secret);
    return http_response_json(response, created ? 201 : 200, body);
}

int secrets_delete(void *context, struct http_request *request, struct http_response *response,
                   struct error **err)
{
    struct api *api = context;
    if (!egress_secret_name_is_valid(request->captures[0]))
        return no_secret(err);
    if (secret_delete(api->worker.db, api->access.team->id, request->captures[0], err) < 0)
        return -1;
    response->status = 204;
    return 0;
}
