/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Members of teams, and invitations and links into them. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "cli/api.h"
#include "cli/input.h"
#include "cli/output.h"
#include "cli/verbs.h"

/* The path of a member or invitation; the caller frees it. */
static char *path_in_team(const struct cli_call *call, const char *what)
{
    autofree char *name = api_escape(cli_operand(call, 1));
    autofree char *after = xasprintf("/%s/%s", what, name);
    return api_path("/v1/teams/", after, cli_operand(call, 0));
}

int verb_member_list(struct cli_call *call, struct error **err)
{
    static const struct output_column columns[] = {
        {"NAME", "name"}, {"ROLE", "role"}, {"SINCE", "added_at"}};
    autofree char *path = api_path("/v1/teams/", "/members", cli_operand(call, 0));
    return output_list(call->cli, path, "items", "members", columns, ARRAY_SIZE(columns), err);
}

int verb_member_role(struct cli_call *call, struct error **err)
{
    autofree char *path = path_in_team(call, "members");
    json_t *body = json_object();
    json_t *member;
    input_text(body, "role", cli_operand(call, 2));
    if (api_call(call->cli, "PATCH", path, body, &member, err) < 0)
        return -1;
    output_result(call->cli, member, "role");
    return 0;
}

int verb_member_rm(struct cli_call *call, struct error **err)
{
    autofree char *path = path_in_team(call, "members");
    return api_call(call->cli, "DELETE", path, NULL, NULL, err);
}

const struct cli_option member_invite_options[] = {
    {"role", 'r', "owner|member|viewer", "role of the user; default: member"},
    {NULL, 0, NULL, NULL},
};

int verb_member_invite(struct cli_call *call, struct error **err)
{
    autofree char *path = api_path("/v1/teams/", "/invitations", cli_operand(call, 0));
    const char *role = cli_value(call, "role");
    json_t *body = json_object();
    json_t *invitation;
    input_text(body, "name", cli_operand(call, 1));
    input_text(body, "role", role ? role : "member");
    if (api_call(call->cli, "POST", path, body, &invitation, err) < 0)
        return -1;
    output_result(call->cli, invitation, "expires_at");
    output_note(call->cli, "%s accepts with `sandlot invitation accept %s`, or in the console.",
                cli_operand(call, 1), cli_operand(call, 0));
    return 0;
}

/* --- links into a team --- */

const struct cli_option link_create_options[] = {
    {"role", 'r', "member|viewer", "role of the people who join; default: member"},
    {"uses", 0, "N", "number of people who can join, at most 100; default: 1"},
    {"expires", 0, "TIME|DURATION", "time until the link expires, at most 30 days; default: 7d"},
    {NULL, 0, NULL, NULL},
};

int verb_link_create(struct cli_call *call, struct error **err)
{
    autofree char *path = api_path("/v1/teams/", "/links", cli_operand(call, 0));
    const char *role = cli_value(call, "role");
    json_auto_t *body = json_object();
    json_t *link;
    input_text(body, "role", role ? role : "member");
    input_time(body, "expires_at", cli_value(call, "expires"));
    if (input_number(body, "uses", cli_value(call, "uses"), "--uses", err) < 0 ||
        api_call(call->cli, "POST", path, json_incref(body), &link, err) < 0)
        return -1;
    bool has_console = json_is_string(json_object_get(link, "link"));
    output_result(call->cli, link, has_console ? "link" : "token");
    output_note(call->cli,
                "sandlot shows the link only once. People open it, or run `sandlot join LINK`.");
    return 0;
}

int verb_link_list(struct cli_call *call, struct error **err)
{
    static const struct output_column columns[] = {{"ID", "id"},
                                                   {"ROLE", "role"},
                                                   {"BY", "made_by"},
                                                   {"USES LEFT", "uses_left"},
                                                   {"EXPIRES", "expires_at"}};
    autofree char *path = api_path("/v1/teams/", "/links", cli_operand(call, 0));
    return output_list(call->cli, path, "items", "links", columns, ARRAY_SIZE(columns), err);
}

int verb_link_rm(struct cli_call *call, struct error **err)
{
    autofree char *path = path_in_team(call, "links");
    return api_call(call->cli, "DELETE", path, NULL, NULL, err);
}

int verb_join(struct cli_call *call, struct error **err)
{
    const char *link = cli_operand(call, 0), *mark = strchr(link, '#');
    json_t *body = json_object();
    json_t *member;
    input_text(body, "token", mark ? mark + 1 : link);
    if (api_call(call->cli, "POST", "/v1/links/accept", body, &member, err) < 0)
        return -1;
    output_result(call->cli, member, "team");
    return 0;
}

/* --- invitations of the user --- */

int verb_invitation_list(struct cli_call *call, struct error **err)
{
    static const struct output_column columns[] = {
        {"TEAM", "team"}, {"ROLE", "role"}, {"BY", "invited_by"}, {"EXPIRES", "expires_at"}};
    return output_list(call->cli, "/v1/invitations", "items", "invitations", columns,
                       ARRAY_SIZE(columns), err);
}

static int answer_invitation(struct cli_call *call, const char *answer, struct error **err)
{
    autofree char *path = api_path("/v1/invitations/", answer, cli_operand(call, 0));
    return api_call(call->cli, "POST", path, NULL, NULL, err);
}

int verb_invitation_accept(struct cli_call *call, struct error **err)
{
    return answer_invitation(call, "/accept", err);
}

int verb_invitation_decline(struct cli_call *call, struct error **err)
{
    return answer_invitation(call, "/decline", err);
}
