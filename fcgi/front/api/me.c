/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The principal, and the teams that it may name in requests. */
#include <stdlib.h>
#include <string.h>

#include "api/api.h"
#include "api/console.h"
#include "api/key_view.h"
#include "base/mem.h"
#include "base/str.h"
#include "http/pool.h"
#include "login/credential.h"

/* Kept answers by key. An answer is valid while the access revision and the key's last use stay the
 * same. */
#define PLACES   64
#define TEXT_MAX 8192
static struct answer {
    char key_id[ID_SIZE];
    uint64_t revision;
    int64_t last_used_at_ms;
    char *text;
} answers[PLACES];

static struct answer *place_of(const char *key_id)
{
    return &answers[pool_tenant(key_id) % PLACES];
}

/* Return the kept answer, or NULL. */
static const char *find_answer(const struct api *api)
{
    const struct principal *principal = &api->principal;
    const struct answer *answer = place_of(principal->key_id);
    return api->ahead.what == AHEAD_KEY && answer->revision == principal->revision &&
                   answer->last_used_at_ms == api->ahead.last_used_at_ms &&
                   str_equal(answer->key_id, principal->key_id)
               ? answer->text
               : NULL;
}

static void keep_answer(const struct principal *principal, int64_t last_used_at_ms,
                        const json_t *body)
{
    struct answer *answer = place_of(principal->key_id);
    char *text = principal->revision ? json_dumps(body, JSON_COMPACT) : NULL;
    if (text && strlen(text) <= TEXT_MAX) {
        free(answer->text);
        *answer = (struct answer){
            .revision = principal->revision, .last_used_at_ms = last_used_at_ms, .text = text};
        memcpy(answer->key_id, principal->key_id, sizeof answer->key_id);
    } else {
        free(text);
    }
}

int me_look(void *context, const struct http_request *request, uint64_t *revision,
            struct error **err)
{
    struct api *api = context;
    (void)request;
    api->ahead.what = AHEAD_KEY;
    return api_key_look_used(api->worker.db, api->principal.key_id, &api->ahead.last_used_at_ms,
                             revision, err);
}

static json_t *team_to_json(const struct principal *principal, const struct team *team)
{
    bool is_personal = !strcmp(team->id, principal->personal_team_id);
    return json_pack("{s:s, s:s, s:s, s:s, s:b}", "id", team->id, "slug", team->slug, "plan",
                     team->plan, "role", team_role_name(team->role), "personal", (int)is_personal);
}

static int by_slug(const void *a, const void *b)
{
    return strcmp(((const struct team *)a)->slug, ((const struct team *)b)->slug);
}

/* Return the teams, for both answers. */
static json_t *teams_to_json(struct principal *principal)
{
    json_t *teams = json_array();
    if (principal->team_count)
        qsort(principal->teams, principal->team_count, sizeof *principal->teams, by_slug);
    for (unsigned i = 0; i < principal->team_count; i++)
        json_array_append_new(teams, team_to_json(principal, &principal->teams[i]));
    const struct team *usual = principal_default_team(principal);
    return json_pack("{s:o, s:s?}", "teams", teams, "default_team", usual ? usual->slug : NULL);
}

int teams_list(void *context, struct http_request *request, struct http_response *response,
               struct error **err)
{
    struct api *api = context;
    (void)request;
    (void)err;
    return http_response_json(response, 200, teams_to_json(&api->principal));
}

static int show_key(struct api *api, json_t *body, int64_t *last_used_at_ms, struct error **err)
{
    struct api_key key;
    if (api_key_get(api->worker.db, api->principal.user_id, api->principal.key_id, &key, err) < 0)
        return -1;
    json_object_set_new(
        body, "user", json_pack("{s:s, s:s}", "id", api->principal.user_id, "name", key.user_name));
    json_object_set_new(body, "key", key_to_json(&key));
    json_object_set_new(body, "session", json_null());
    json_object_set_new(body, "password", json_null());
    json_object_set_new(body, "second_factor", json_null());
    *last_used_at_ms = key.last_used_at_ms;
    api_key_deinit(&key);
    return 0;
}

static int show_login(struct api *api, json_t *body, struct error **err)
{
    struct credential credential;
    if (credential_get_by_id(api->worker.db, api->login.user_id, &credential, err) < 0)
        return -1;
    json_object_set_new(body, "user", console_user_to_json(&api->login));
    json_object_set_new(body, "key", json_null());
    json_object_set_new(body, "session", console_login_to_json(&api->login, &api->login));
    json_object_set_new(body, "password", json_boolean(*credential.password_hash));
    json_object_set_new(body, "second_factor", json_boolean(credential.has_second_factor));
    mem_wipe(&credential, sizeof credential);
    return 0;
}

/* Return where SSH clients connect to, or null. */
static json_t *ssh_to_json(const struct settings *settings)
{
    if (!*settings->ssh_host)
        return json_null();
    return json_pack("{s:s, s:I}", "host", settings->ssh_host, "port",
                     (json_int_t)settings->ssh_port);
}

int me_show(void *context, struct http_request *request, struct http_response *response,
            struct error **err)
{
    struct api *api = context;
    bool is_key = !*api->principal.login_id;
    int64_t last_used_at_ms = 0;
    const char *known = is_key ? find_answer(api) : NULL;
    (void)request;
    if (known) {
        buffer_append_string(&response->body, known);
        return 0;
    }
    json_auto_t *body = teams_to_json(&api->principal);
    if ((is_key ? show_key(api, body, &last_used_at_ms, err) : show_login(api, body, err)) < 0)
        return -1;
    json_object_set_new(body, "operator", json_boolean(principal_is_operator(&api->principal)));
    json_object_set_new(body, "base_url", json_string(api->settings->base_url));
    json_object_set_new(body, "ssh", ssh_to_json(api->settings));
    if (is_key)
        keep_answer(&api->principal, last_used_at_ms, body);
    return http_response_json(response, 200, json_incref(body));
}
