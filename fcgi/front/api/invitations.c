/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Invitations into a team: owners make and withdraw them, the invited user accepts or declines. */
#include "account/invitation.h"

#include <string.h>

#include "api/api.h"
#include "api/members.h"
#include "api/sandbox_output.h"
#include "base/mem.h"

const struct schema_member invitation_schema[] = {
    {.name = "name", .type = SCHEMA_STRING, .required = true, .min = 1, .max = SLUG_MAX},
    {.name = "role", .type = SCHEMA_STRING, .required = true, .choices = member_role_choices},
    {.name = NULL},
};

static json_t *invitation_to_json(const struct invitation *invitation)
{
    return json_pack("{s:s, s:s, s:s, s:s, s:o, s:o}", "team", invitation->team_slug, "name",
                     invitation->user_name, "role", team_role_name(invitation->role), "invited_by",
                     invitation->invited_by, "created_at", time_to_json(invitation->created_at_ms),
                     "expires_at", time_to_json(invitation->expires_at_ms));
}

static int answer_list(struct http_response *response, const struct invitation *invitations,
                       unsigned count)
{
    json_t *rows = JSON_LIST(invitations, count, invitation_to_json);
    return http_response_json(response, 200, json_pack("{s:o}", "items", rows));
}

int team_invitations_list(void *context, struct http_request *request,
                          struct http_response *response, struct error **err)
{
    struct api *api = context;
    autofree struct invitation *invitations = NULL;
    unsigned count;
    (void)request;
    if (members_check_owner(api, err) < 0 ||
        invitation_list_of_team(api->worker.db, api->access.team->id, &invitations, &count, err) <
            0)
        return -1;
    return answer_list(response, invitations, count);
}

int team_invitations_create(void *context, struct http_request *request,
                            struct http_response *response, struct error **err)
{
    struct api *api = context;
    struct invitation invitation = {0};
    const char *name = json_string_value(json_object_get(request->json, "name"));
    if (members_check_owner(api, err) < 0)
        return -1;
    if (invitation_make(api->worker.db, api->access.team->id, name, members_read_role(request),
                        api->principal.user_id, &invitation, err) < 0)
        /* An unknown user is a wrong value in the body; the path exists. */
        return (*err)->code == ERR_NOT_FOUND ? error_recode(err, ERR_INVALID_REQUEST) : -1;
    return http_response_json(response, 201, invitation_to_json(&invitation));
}

int team_invitations_delete(void *context, struct http_request *request,
                            struct http_response *response, struct error **err)
{
    struct api *api = context;
    if (members_check_owner(api, err) < 0 ||
        invitation_withdraw(api->worker.db, api->access.team->id, request->captures[1], err) < 0)
        return -1;
    response->status = 204;
    return 0;
}

int invitations_list(void *context, struct http_request *request, struct http_response *response,
                     struct error **err)
{
    struct api *api = context;
    autofree struct invitation *invitations = NULL;
    unsigned count;
    (void)request;
    if (members_check_whole(api, err) < 0 ||
        invitation_list_of_user(api->worker.db, api->principal.user_id, &invitations, &count, err) <
            0)
        return -1;
    return answer_list(response, invitations, count);
}

/* Find an invitation to answer. The team's log records the answer, with the user as its object. */
static int find(struct api *api, const struct http_request *request, struct invitation *invitation,
                struct error **err)
{
    if (members_check_whole(api, err) < 0 ||
        invitation_get(api->worker.db, api->principal.user_id, request->captures[0], invitation,
                       err) < 0)
        return -1;
    memcpy(api->audit.entry.team_id, invitation->team_id, sizeof api->audit.entry.team_id);
    audit_about(&api->audit, invitation->user_name);
    return 0;
}

int invitations_accept(void *context, struct http_request *request, struct http_response *response,
                       struct error **err)
{
    struct api *api = context;
    struct invitation invitation;
    struct member member;
    if (find(api, request, &invitation, err) < 0 ||
        invitation_accept(api->worker.db, api->principal.user_id, &invitation, &member, err) < 0)
        return -1;
    return http_response_json(response, 200, member_to_json(&member));
}

int invitations_decline(void *context, struct http_request *request, struct http_response *response,
                        struct error **err)
{
    struct api *api = context;
    struct invitation invitation;
    if (find(api, request, &invitation, err) < 0 ||
        invitation_decline(api->worker.db, api->principal.user_id, &invitation, err) < 0)
        return -1;
    response->status = 204;
    return 0;
}
