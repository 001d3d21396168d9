/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The members of a team: each member lists them, owners change roles and remove members, and each
 * member may leave. */
#include "api/members.h"

#include <string.h>

#include "api/sandbox_output.h"
#include "base/mem.h"
#include "login/credential.h"

const char *const member_role_choices[] = {"owner", "member", "viewer", NULL};

const struct schema_member member_update_schema[] = {
    {.name = "role", .type = SCHEMA_STRING, .required = true, .choices = member_role_choices},
    {.name = NULL},
};

json_t *member_to_json(const struct member *member)
{
    return json_pack("{s:s, s:s, s:o}", "name", member->user_name, "role",
                     team_role_name(member->role), "added_at", time_to_json(member->added_at_ms));
}

int members_check_owner(const struct api *api, struct error **err)
{
    if (api->access.team->role == ROLE_OWNER)
        return 0;
    return error_set(err, ERR_INSUFFICIENT_SCOPE,
                     "Only an owner of the team can change its members.");
}

int members_check_whole(const struct api *api, struct error **err)
{
    if (api->principal.all_teams)
        return 0;
    return error_set(err, ERR_INSUFFICIENT_SCOPE,
                     "This call needs a sign-in, or a key for all teams.");
}

enum team_role members_read_role(const struct http_request *request)
{
    enum team_role role = ROLE_VIEWER;
    team_role_parse(json_string_value(json_object_get(request->json, "role")), &role);
    return role;
}

int members_list(void *context, struct http_request *request, struct http_response *response,
                 struct error **err)
{
    struct api *api = context;
    autofree struct member *members = NULL;
    unsigned count;
    (void)request;
    if (member_list(api->worker.db, api->access.team->id, &members, &count, err) < 0)
        return -1;
    json_t *rows = JSON_LIST(members, count, member_to_json);
    return http_response_json(response, 200, json_pack("{s:o}", "items", rows));
}

int members_update(void *context, struct http_request *request, struct http_response *response,
                   struct error **err)
{
    struct api *api = context;
    struct member member;
    if (members_check_owner(api, err) < 0 ||
        member_set_role(api->worker.db, api->access.team->id, request->captures[1],
                        members_read_role(request), &member, err) < 0)
        return -1;
    return http_response_json(response, 200, member_to_json(&member));
}

/* Check whether the user who asks is this member. */
static int is_own_name(struct api *api, const char *name, bool *own, struct error **err)
{
    struct credential credential;
    if (credential_get_by_id(api->worker.db, api->principal.user_id, &credential, err) < 0)
        return -1;
    *own = !strcmp(credential.user_name, name);
    mem_wipe(&credential, sizeof credential);
    return 0;
}

int members_remove(void *context, struct http_request *request, struct http_response *response,
                   struct error **err)
{
    struct api *api = context;
    const char *name = request->captures[1];
    bool own;
    if (is_own_name(api, name, &own, err) < 0 || (!own && members_check_owner(api, err) < 0) ||
        member_remove(api->worker.db, api->access.team->id, name, err) < 0)
        return -1;
    response->status = 204;
    return 0;
}
