/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Secrets: those of /v1 in E2B's form. There, a secret has no hosts but metadata; the member hosts
 * of the metadata, names separated by commas, binds it. Without it, it may be sent to any host. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "api/e2b/e2b.h"
#include "api/page_list.h"
#include "api/sandbox_output.h"
#include "base/mem.h"
#include "base/str.h"
#include "network/egress_rule.h"
#include "secret/secret.h"

#define METADATA_KEYS_MAX  32
#define METADATA_VALUE_MAX 1024
#define HOSTS_MEMBER       "hosts"

static const struct schema_member text_item = {
    .type = SCHEMA_STRING, .characters = true, .max = METADATA_VALUE_MAX};

#define VALUE_MEMBERS                                                                         \
    {.name = "value",                                                                         \
     .type = SCHEMA_STRING,                                                                   \
     .required = true,                                                                        \
     .min = 1,                                                                                \
     .max = SECRET_VALUE_MAX,                                                                 \
     .check = secret_check_value},                                                            \
    {                                                                                         \
        .name = "metadata", .type = SCHEMA_MAP, .max = METADATA_KEYS_MAX, .item = &text_item, \
        .check = secret_check_metadata                                                        \
    }

const struct schema_member e2b_secret_schema[] = {
    {.name = "name", .type = SCHEMA_STRING, .required = true, .min = 1, .max = SECRET_NAME_MAX},
    VALUE_MEMBERS,
    {.name = NULL},
};
const struct schema_member e2b_secret_update_schema[] = {VALUE_MEMBERS, {.name = NULL}};

static json_t *secret_to_json(const struct secret *secret)
{
    return json_pack("{s:s, s:s, s:I, s:O, s:o, s:o}", "secretID", secret->id, "name", secret->name,
                     "currentVersion", (json_int_t)secret->version, "metadata", secret->metadata,
                     "createdAt", time_to_json(secret->created_at_ms), "updatedAt",
                     time_to_json(secret->updated_at_ms));
}

/* Read the hosts from the metadata. */
static int read_hosts(const json_t *metadata, json_t *hosts, struct error **err)
{
    const char *text = json_string_value(json_object_get(metadata, HOSTS_MEMBER));
    autofree char *copy = xstrdup(text ? text : "*");
    char *rest = NULL;
    for (char *host = strtok_r(copy, ", ", &rest); host; host = strtok_r(NULL, ", ", &rest))
        json_array_append_new(hosts, json_string(host));
    return secret_check_hosts(hosts, "/metadata/" HOSTS_MEMBER, err);
}

/* Store a value; metadata that is left out stays. */
static int put(struct api *api, const char *name, const json_t *body, bool is_new,
               struct secret *secret, struct error **err)
{
    json_auto_t *hosts = json_array();
    const json_t *metadata = json_object_get(body, "metadata");
    struct secret_change change = {
        .name = name,
        .value = json_string_value(json_object_get(body, "value")),
        .metadata = metadata,
        .only_new = is_new,
    };
    bool created;
    if (metadata || is_new) {
        if (read_hosts(metadata, hosts, err) < 0)
            return -1;
        change.hosts = hosts;
    }
    return secret_put(api->worker.db, api->worker.ring, api->access.team, api->principal.user_id,
                      &change, secret, &created, err);
}

static int answer(struct secret *secret, int status, struct http_response *response)
{
    json_t *body = secret_to_json(secret);
    secret_deinit(secret);
    return http_response_json(response, status, body);
}

/* Return the secret with the given id or name, or else the only one whose name differs in case,
 * because E2B's names ignore case. Something in the form of an id finds no name: a value for one
 * secret must not go into another secret that has the id as its name. */
static struct secret *find_in(struct secret *secrets, unsigned count, const char *given)
{
    bool is_id = id_is_valid("sec_", given);
    struct secret *similar = NULL;
    unsigned similar_count = 0;
    for (unsigned i = 0; i < count; i++) {
        if (str_equal(is_id ? secrets[i].id : secrets[i].name, given))
            return &secrets[i];
        if (!is_id && !strcasecmp(secrets[i].name, given)) {
            similar = &secrets[i];
            similar_count++;
        }
    }
    return similar_count == 1 ? similar : NULL;
}

/* Find a secret by the id or the name in the path. */
static int find(struct api *api, const struct http_request *request, struct secret *secret,
                struct error **err)
{
    struct secret *secrets;
    unsigned count;
    if (secret_list(api->worker.db, api->access.team->id, &secrets, &count, err) < 0)
        return -1;
    struct secret *found = find_in(secrets, count, request->captures[0]);
    if (found) {
        *secret = *found;
        *found = (struct secret){0};
    }
    secrets_free(secrets, count);
    return found ? 0 : error_set(err, ERR_NOT_FOUND, "There is no such secret.");
}

int e2b_secrets_create(void *context, struct http_request *request, struct http_response *response,
                       struct error **err)
{
    struct api *api = context;
    struct secret secret = {0};
    const char *name = json_string_value(json_object_get(request->json, "name"));
    if (!egress_secret_name_is_valid(name))
        return error_set_field(
            err, ERR_INVALID_REQUEST, "/name",
            "The name of a secret has letters, digits, hyphens and underscores only.");
    return put(api, name, request->json, true, &secret, err) < 0 ? -1
                                                                 : answer(&secret, 201, response);
}

PAGE_ROW(struct secret);

static int newest_first(const void *a, const void *b)
{
    return strcmp(((const struct secret *)b)->id, ((const struct secret *)a)->id);
}

/* Read all secrets of a team, which are few, and keep those of the page. */
static int list_page(struct db *db, const struct page_query *query, void **rows, unsigned *count,
                     struct error **err)
{
    struct secret *secrets;
    unsigned all = 0;
    int result = secret_list(db, query->team_id, &secrets, &all, err);
    *rows = secrets;
    if (all)
        qsort(secrets, all, sizeof *secrets, newest_first);
    for (unsigned i = 0; i < all; i++) {
        bool is_on_page =
            *count < query->limit && (!query->before || strcmp(secrets[i].id, query->before) < 0);
        if (is_on_page)
            secrets[(*count)++] = secrets[i];
        else
            secret_deinit(&secrets[i]);
    }
    return result;
}

static json_t *row_to_json(const struct api *api, const void *row)
{
    (void)api;
    return secret_to_json(row);
}

static void row_deinit(void *row)
{
    secret_deinit(row);
}

int e2b_secrets_list(void *context, struct http_request *request, struct http_response *response,
                     struct error **err)
{
    static const struct page_kind kind = {
        .member = "secrets",
        .row_size = sizeof(struct secret),
        .list = list_page,
        .deinit = row_deinit,
        .to_json = row_to_json,
    };
    return e2b_list(context, &kind, request, response, err);
}

int e2b_secrets_show(void *context, struct http_request *request, struct http_response *response,
                     struct error **err)
{
    struct secret secret = {0};
    return find(context, request, &secret, err) < 0 ? -1 : answer(&secret, 200, response);
}

int e2b_secrets_update(void *context, struct http_request *request, struct http_response *response,
                       struct error **err)
{
    struct api *api = context;
    struct secret secret = {0}, changed = {0};
    if (find(api, request, &secret, err) < 0)
        return -1;
    int result = put(api, secret.name, request->json, false, &changed, err);
    secret_deinit(&secret);
    return result < 0 ? -1 : answer(&changed, 200, response);
}

int e2b_secrets_delete(void *context, struct http_request *request, struct http_response *response,
                       struct error **err)
{
    struct api *api = context;
    struct secret secret = {0};
    if (find(api, request, &secret, err) < 0)
        return -1;
    int result = secret_delete(api->worker.db, api->access.team->id, secret.name, err);
    secret_deinit(&secret);
    response->status = 204;
    return result;
}
