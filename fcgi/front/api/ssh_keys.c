/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Public keys for SSH. They follow the rules of API keys: a key never reaches further than the key
 * that added it. */
#include "api/api.h"
#include "api/console.h"
#include "api/key_view.h"
#include "base/mem.h"

const struct schema_member ssh_key_create_schema[] = {
    {.name = "public_key",
     .type = SCHEMA_STRING,
     .required = true,
     .min = 1,
     .max = (int64_t)2 * SSH_PUBLIC_KEY_MAX},
    {.name = "name", .type = SCHEMA_STRING, .characters = true, .max = API_KEY_NAME_MAX},
    {.name = "teams",
     .type = SCHEMA_ARRAY,
     .min = 1,
     .max = API_KEY_TEAMS_MAX,
     .item = &key_team_item},
    {.name = "expires_at", .type = SCHEMA_STRING, .min = 1, .max = 40},
    {.name = "password", .type = SCHEMA_STRING, .min = 1, .max = PASSWORD_MAX},
    {.name = "key", .hint = "the member's name is public_key."},
    {.name = NULL},
};

static json_t *ssh_key_to_json(const struct api_key *key)
{
    json_t *body = key_to_json(key);
    autofree char *fingerprint = xasprintf("SHA256:%s", key->ssh_fingerprint);
    json_object_del(body, "scopes");
    json_object_set_new(body, "public_key", json_string(key->ssh_public_key));
    json_object_set_new(body, "fingerprint", json_string(fingerprint));
    return body;
}

int ssh_keys_list(void *context, struct http_request *request, struct http_response *response,
                  struct error **err)
{
    (void)request;
    return key_answer_list(context, SSH_KEYS, "ssh_keys", ssh_key_to_json, response, err);
}

static int add(struct api *api, struct http_request *request, const struct ssh_public_key *public,
               struct api_key *key, struct error **err)
{
    const json_t *body = request->json;
    const char *name = json_string_value(json_object_get(body, "name"));
    autofree const char **slugs = NULL;
    struct api_key_request wanted = {
        .user_id = api->principal.user_id,
        .by_key_id = *api->principal.key_id ? api->principal.key_id : NULL,
        .name = name ? name : public->comment,
        .can_write = true,
        .ssh = public,
    };
    if (key_read_expiry(&api->principal, body, &wanted.expires_at_ms, err) < 0 ||
        key_read_teams(&api->principal, body, &slugs, &wanted.team_count, err) < 0 ||
        key_read_binding(api, request, &wanted.login_id, err) < 0)
        return -1;
    wanted.team_slugs = slugs;
    api->audit.resource = key->id;
    return ssh_key_create(api->worker.db, api->worker.ring, &wanted, key, err);
}

int ssh_keys_create(void *context, struct http_request *request, struct http_response *response,
                    struct error **err)
{
    struct ssh_public_key public;
    struct api_key key;
    const char *line = json_string_value(json_object_get(request->json, "public_key"));
    if (ssh_public_key_parse(line, "/public_key", &public, err) < 0)
        return -1;
    int result = add(context, request, &public, &key, err);
    ssh_public_key_deinit(&public);
    if (result < 0)
        return -1;
    json_t *body = ssh_key_to_json(&key);
    api_key_deinit(&key);
    return http_response_json(response, 201, body);
}

int ssh_keys_delete(void *context, struct http_request *request, struct http_response *response,
                    struct error **err)
{
    return key_answer_revoke(context, request, "ssk_", "SSH", response, err);
}

int ssh_keys_created(void *context, struct http_request *request, struct http_response *response,
                     struct error **err)
{
    return key_answer_created(context, request, "ssk_", "SSH", response, err);
}
