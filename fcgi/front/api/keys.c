/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "api/api.h"
#include "api/console.h"
#include "api/key_view.h"
#include "api/sandbox_output.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"

static const char *const scope_choices[] = {"read", "write", NULL};
static const struct schema_member scope_item = {.type = SCHEMA_STRING, .choices = scope_choices};
const struct schema_member key_team_item = {.type = SCHEMA_STRING, .min = 1, .max = SLUG_MAX};

const struct schema_member key_create_schema[] = {
    {.name = "name", .type = SCHEMA_STRING, .characters = true, .max = API_KEY_NAME_MAX},
    {.name = "scopes",
     .type = SCHEMA_ARRAY,
     .required = true,
     .min = 1,
     .max = 2,
     .item = &scope_item},
    {.name = "teams",
     .type = SCHEMA_ARRAY,
     .min = 1,
     .max = API_KEY_TEAMS_MAX,
     .item = &key_team_item},
    {.name = "expires_at", .type = SCHEMA_STRING, .min = 1, .max = 40},
    {.name = "password", .type = SCHEMA_STRING, .min = 1, .max = PASSWORD_MAX},
    {.name = NULL},
};

json_t *key_to_json(const struct api_key *key)
{
    json_t *teams = json_array();
    for (unsigned i = 0; i < key->team_count; i++)
        json_array_append_new(teams, json_string(key->teams[i].slug));
    json_t *scopes = json_pack("[s]", "read");
    if (key->can_write)
        json_array_append_new(scopes, json_string("write"));
    const char *created_by = *key->created_by ? key->created_by : NULL;
    return json_pack(
        "{s:s, s:s, s:s?, s:o, s:o, s:o, s:b, s:o, s:o, s:o}", "id", key->id, "name", key->name,
        "created_by", created_by, "scopes", scopes, "teams", key->all_teams ? json_null() : teams,
        "excluded_by", key->all_teams ? teams : json_array(), "ends_with_session",
        (int)key->is_bound, "created_at", time_to_json(key->created_at_ms), "expires_at",
        time_to_json(key->expires_at_ms), "last_used_at", time_to_json(key->last_used_at_ms));
}

int key_answer_list(struct api *api, enum api_key_kind kind, const char *member,
                    json_t *(*to_json)(const struct api_key *key), struct http_response *response,
                    struct error **err)
{
    struct api_key *keys;
    unsigned count;
    if (api_key_list(api->worker.db, kind, api->principal.user_id, &keys, &count, err) < 0)
        return -1;
    json_t *rows = json_array();
    for (unsigned i = 0; i < count; i++)
        if (!keys[i].revoked_at_ms && principal_covers(&api->principal, &keys[i]))
            json_array_append_new(rows, to_json(&keys[i]));
    api_keys_free(keys, count);
    return http_response_json(response, 200, json_pack("{s:o}", member, rows));
}

int keys_list(void *context, struct http_request *request, struct http_response *response,
              struct error **err)
{
    (void)request;
    return key_answer_list(context, API_KEYS, "keys", key_to_json, response, err);
}

int key_read_teams(const struct principal *principal, const json_t *body, const char ***slugs,
                   unsigned *count, struct error **err)
{
    const json_t *asked = json_object_get(body, "teams");
    size_t size = asked ? json_array_size(asked) : principal->all_teams ? 0 : principal->team_count;
    *slugs = xcalloc(size + 1, sizeof **slugs);
    *count = 0;
    for (size_t i = 0; i < size; i++) {
        const struct team *team = asked ? NULL : &principal->teams[i];
        autofree char *pointer = xasprintf("/teams/%zu", i);
        if (asked && principal_team(principal, json_string_value(json_array_get(asked, i)), pointer,
                                    &team, err) < 0)
            return -1;
        (*slugs)[(*count)++] = team->slug;
    }
    if (!size && !principal->all_teams)
        return error_set_field(err, ERR_TEAM_FORBIDDEN, "/teams",
                               "This key reaches no team, so it cannot create keys.");
    return 0;
}

int key_read_expiry(const struct principal *principal, const json_t *body, int64_t *expires_at_ms,
                    struct error **err)
{
    const char *expires = json_string_value(json_object_get(body, "expires_at"));
    *expires_at_ms = principal->expires_at_ms;
    if (!expires)
        return 0;
    if (clock_parse_iso8601(expires, expires_at_ms) < 0)
        return error_set_field(err, ERR_INVALID_REQUEST, "/expires_at",
                               "expires_at must be a time, such as 2027-01-31T12:00:00Z.");
    if (!*expires_at_ms) /* the beginning of 1970, and not "never" */
        *expires_at_ms = 1;
    if (principal->expires_at_ms && *expires_at_ms > principal->expires_at_ms)
        return error_set_field(err, ERR_INVALID_REQUEST, "/expires_at",
                               "The key of this request expires earlier. A new key cannot expire "
                               "later than the key that creates it.");
    return 0;
}

/* Check whether a user without a password has just signed in. */
static int is_fresh(struct api *api, bool *fresh, struct error **err)
{
    struct credential credential;
    if (credential_get_by_id(api->worker.db, api->login.user_id, &credential, err) < 0)
        return -1;
    *fresh = !credential.password_hash[0] &&
             api->login.created_at_ms > clock_now_ms() - KEY_FRESH_LOGIN_MS;
    mem_wipe(&credential, sizeof credential);
    return 0;
}

int key_read_binding(struct api *api, struct http_request *request, const char **login_id,
                     struct error **err)
{
    const struct principal *principal = &api->principal;
    struct sign_in by;
    struct credential credential;
    bool fresh;
    const char *password = json_string_value(json_object_get(request->json, "password"));
    *login_id = *principal->bound_to ? principal->bound_to : NULL;
    if (!*principal->login_id)
        return !password ? 0
                         : error_set_field(
                               err, ERR_INVALID_REQUEST, "/password",
                               "Only a request with a sign-in can give a password; leave it out.");
    if (!password) {
        if (is_fresh(api, &fresh, err) < 0)
            return -1;
        *login_id = fresh ? NULL : principal->login_id;
        return 0;
    }
    by = console_sign_in(api, request);
    if (api_take_password_share(api, request, err) < 0)
        return -1;
    int result =
        sign_in_ask_password(&by, api->login.user_id, password, "/password", &credential, err);
    mem_wipe(&credential, sizeof credential);
    return result;
}

static int read_request(const struct principal *principal, const json_t *body,
                        struct api_key_request *wanted, const char ***slugs, struct error **err)
{
    size_t index;
    json_t *scope;
    *wanted = (struct api_key_request){
        .user_id = principal->user_id,
        .by_key_id = *principal->key_id ? principal->key_id : NULL,
        .name = json_string_value(json_object_get(body, "name")),
    };
    json_array_foreach (json_object_get(body, "scopes"), index, scope)
        wanted->can_write |= str_equal(json_string_value(scope), "write");
    if (key_read_expiry(principal, body, &wanted->expires_at_ms, err) < 0)
        return -1;
    return key_read_teams(principal, body, slugs, &wanted->team_count, err);
}

int keys_create(void *context, struct http_request *request, struct http_response *response,
                struct error **err)
{
    struct api *api = context;
    struct api_key_request wanted;
    struct api_key key;
    char text[API_KEY_TEXT_SIZE], hex[API_KEY_HEX_SIZE];
    autofree const char **slugs = NULL;
    if (read_request(&api->principal, request->json, &wanted, &slugs, err) < 0)
        return -1;
    wanted.team_slugs = slugs;
    if (key_read_binding(api, request, &wanted.login_id, err) < 0)
        return -1;
    api->audit.resource = key.id;
    if (api_key_create(api->worker.db, api->worker.ring, &wanted, &key, text, err) < 0)
        return -1;
    json_t *body = key_to_json(&key);
    api_key_to_hex(text, hex);
    json_object_set_new(body, "key", json_string(text));
    json_object_set_new(body, "e2b_key", json_string(hex));
    mem_wipe(text, sizeof text);
    mem_wipe(hex, sizeof hex);
    api_key_deinit(&key);
    return http_response_json(response, 201, body);
}

/* Check whether an id is a key of this user that the asking key may see. */
static int is_covered(struct api *api, const char *prefix, const char *id, bool *covered,
                      struct error **err)
{
    struct api_key key;
    error_auto missing = NULL;
    *covered = false;
    if (!id_is_valid(prefix, id))
        return 0;
    if (api_key_get(api->worker.db, api->principal.user_id, id, &key, &missing) < 0)
        return missing->code == ERR_NOT_FOUND ? 0 : error_move(err, &missing);
    *covered = principal_covers(&api->principal, &key);
    api_key_deinit(&key);
    return 0;
}

static int refuse_uncovered(struct api *api, const char *prefix, const char *id, const char *kind,
                            struct error **err)
{
    bool covered;
    if (is_covered(api, prefix, id, &covered, err) < 0)
        return -1;
    return covered ? 0 : error_set(err, ERR_NOT_FOUND, "There is no such %s key.", kind);
}

int key_answer_created(struct api *api, const struct http_request *request, const char *prefix,
                       const char *kind, struct http_response *response, struct error **err)
{
    const char *id = request->captures[0];
    struct api_key *keys;
    unsigned count;
    if (refuse_uncovered(api, prefix, id, kind, err) < 0 ||
        api_key_list_created(api->worker.db, api->principal.user_id, id, &keys, &count, err) < 0)
        return -1;
    json_t *rows = json_array();
    for (unsigned i = 0; i < count; i++)
        if (principal_covers(&api->principal, &keys[i]))
            json_array_append_new(rows,
                                  json_pack("{s:s, s:s}", "id", keys[i].id, "name", keys[i].name));
    api_keys_free(keys, count);
    return http_response_json(response, 200, json_pack("{s:o}", "keys", rows));
}

int key_answer_revoke(struct api *api, const struct http_request *request, const char *prefix,
                      const char *kind, struct http_response *response, struct error **err)
{
    const char *id = request->captures[0], *with = http_query(request, "with_created");
    if (with && !str_equal(with, "true") && !str_equal(with, "false"))
        return error_set_field(err, ERR_INVALID_REQUEST, "with_created",
                               "with_created must be true or false.");
    if (refuse_uncovered(api, prefix, id, kind, err) < 0 ||
        api_key_revoke(api->worker.db, api->principal.user_id, id, str_equal(with, "true"), err) <
            0)
        return -1;
    response->status = 204;
    return 0;
}

int keys_delete(void *context, struct http_request *request, struct http_response *response,
                struct error **err)
{
    return key_answer_revoke(context, request, "key_", "API", response, err);
}

int keys_created(void *context, struct http_request *request, struct http_response *response,
                 struct error **err)
{
    return key_answer_created(context, request, "key_", "API", response, err);
}
