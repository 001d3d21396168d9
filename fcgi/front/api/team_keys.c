/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Keys of a team's members that name the team or were used in it: owners list and exclude them. */
#include "account/team_key.h"
#include "api/api.h"
#include "api/sandbox_output.h"
#include "base/mem.h"

static int check_owner(const struct api *api, struct error **err)
{
    if (api->access.team->role == ROLE_OWNER)
        return 0;
    return error_set(err, ERR_INSUFFICIENT_SCOPE,
                     "Only an owner of the team can list and revoke the keys of its members.");
}

static json_t *team_key_to_json(const struct team_key *key)
{
    json_t *scopes = json_pack("[s]", "read");
    if (key->can_write)
        json_array_append_new(scopes, json_string("write"));
    return json_pack("{s:s, s:s, s:s, s:s, s:o, s:b, s:b, s:o, s:o, s:o}", "id", key->id, "user",
                     key->user_name, "name", key->name, "kind", key->is_ssh ? "ssh" : "api",
                     "scopes", scopes, "all_teams", (int)key->all_teams, "ends_with_session",
                     (int)key->is_bound, "created_at", time_to_json(key->created_at_ms),
                     "expires_at", time_to_json(key->expires_at_ms), "last_used_at",
                     time_to_json(key->last_used_at_ms));
}

int team_keys_list(void *context, struct http_request *request, struct http_response *response,
                   struct error **err)
{
    struct api *api = context;
    autofree struct team_key *keys = NULL;
    unsigned count;
    (void)request;
    if (check_owner(api, err) < 0 || team_key_list(api->worker.db, api->access.team->id,
                                                   api->principal.user_id, &keys, &count, err) < 0)
        return -1;
    json_t *items = JSON_LIST(keys, count, team_key_to_json);
    return http_response_json(response, 200, json_pack("{s:o}", "items", items));
}

int team_keys_delete(void *context, struct http_request *request, struct http_response *response,
                     struct error **err)
{
    struct api *api = context;
    const char *id = request->captures[1];
    if (check_owner(api, err) < 0)
        return -1;
    if (!id_is_valid("key_", id) && !id_is_valid("ssk_", id))
        return error_set(err, ERR_NOT_FOUND, "There is no such key.");
    if (team_key_exclude(api->worker.db, api->access.team->id, api->principal.user_id, id, err) < 0)
        return -1;
    response->status = 204;
    return 0;
}
