/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "account/member.h"
#include "account/removal.h"
#include "base/mem.h"
#include "ctl/output.h"

static json_t *team_json(const struct team *team)
{
    return json_pack("{s:s, s:s, s:s}", "id", team->id, "slug", team->slug, "plan", team->plan);
}

int ctl_team_create(struct ctl *ctl, const struct ctl_arguments *arguments, struct error **err)
{
    struct team team;
    const char *owner = ctl_text(arguments, "owner");
    if (team_create(ctl->db, arguments->operands[0], ctl_text(arguments, "plan"), owner, &team,
                    err) < 0)
        return -1;
    ctl_print(ctl, team_json(&team), "Team %s (%s) of %s on the plan %s.", team.slug, team.id,
              owner, team.plan);
    return 0;
}

int ctl_team_list(struct ctl *ctl, const struct ctl_arguments *arguments, struct error **err)
{
    static const struct ctl_column columns[] = {{"SLUG", "slug"}, {"PLAN", "plan"}, {"ID", "id"}};
    autofree struct team *teams = NULL;
    unsigned count;
    (void)arguments;
    if (team_list(ctl->db, &teams, &count, err) < 0)
        return -1;
    json_t *rows = JSON_LIST(teams, count, team_json);
    ctl_print_rows(ctl, "teams", rows, columns, ARRAY_SIZE(columns));
    return 0;
}

int ctl_team_set_plan(struct ctl *ctl, const struct ctl_arguments *arguments, struct error **err)
{
    struct team team;
    const char *slug = arguments->operands[0], *plan = arguments->operands[1];
    if (team_set_plan(ctl->db, slug, plan, err) < 0 ||
        team_get_by_slug(ctl->db, slug, &team, err) < 0)
        return -1;
    ctl_print(ctl, team_json(&team), "Team %s now has the plan %s.", team.slug, team.plan);
    return 0;
}

static json_t *member_json(const struct member *member)
{
    return json_pack("{s:s, s:s, s:o}", "name", member->user_name, "role",
                     team_role_name(member->role), "added_at", time_to_json(member->added_at_ms));
}

/* A member keeps the present role, unless --role is given. */
static int put_member(struct ctl *ctl, const struct team *team, const char *user, const char *role,
                      struct member *member, struct error **err)
{
    enum team_role wanted = ROLE_MEMBER;
    error_auto failure = NULL;
    if (role)
        team_role_parse(role, &wanted);
    if (member_add(ctl->db, team->id, user, wanted, member, &failure) == 0)
        return 0;
    if (failure->code != ERR_NAME_TAKEN)
        return error_move(err, &failure);
    return role ? member_set_role(ctl->db, team->id, user, wanted, member, err)
                : member_get(ctl->db, team->id, user, member, err);
}

int ctl_team_add_member(struct ctl *ctl, const struct ctl_arguments *arguments, struct error **err)
{
    struct team team;
    struct member member;
    const char *slug = arguments->operands[0];
    if (team_get_by_slug(ctl->db, slug, &team, err) < 0 ||
        put_member(ctl, &team, ctl_text(arguments, "user"), ctl_text(arguments, "role"), &member,
                   err) < 0)
        return -1;
    json_t *json = member_json(&member);
    json_object_set_new(json, "team", json_string(slug));
    json_object_set_new(json, "user", json_string(member.user_name));
    ctl_print(ctl, json, "User %s is in team %s with the role %s.", member.user_name, slug,
              team_role_name(member.role));
    return 0;
}

int ctl_team_remove_member(struct ctl *ctl, const struct ctl_arguments *arguments,
                           struct error **err)
{
    struct team team;
    const char *slug = arguments->operands[0], *user = ctl_text(arguments, "user");
    if (team_get_by_slug(ctl->db, slug, &team, err) < 0 ||
        member_remove(ctl->db, team.id, user, err) < 0)
        return -1;
    ctl_print(ctl, json_pack("{s:s, s:s}", "team", slug, "user", user),
              "User %s is no longer in team %s.", user, slug);
    return 0;
}

int ctl_team_list_members(struct ctl *ctl, const struct ctl_arguments *arguments,
                          struct error **err)
{
    static const struct ctl_column columns[] = {
        {"NAME", "name"}, {"ROLE", "role"}, {"ADDED", "added_at"}};
    struct team team;
    autofree struct member *members = NULL;
    unsigned count;
    if (team_get_by_slug(ctl->db, arguments->operands[0], &team, err) < 0 ||
        member_list(ctl->db, team.id, &members, &count, err) < 0)
        return -1;
    json_t *rows = JSON_LIST(members, count, member_json);
    ctl_print_rows(ctl, "members", rows, columns, ARRAY_SIZE(columns));
    return 0;
}

int ctl_team_remove(struct ctl *ctl, const struct ctl_arguments *arguments, struct error **err)
{
    const char *slug = arguments->operands[0];
    if (team_remove(ctl->db, slug, err) < 0)
        return -1;
    ctl_print(ctl, json_pack("{s:s, s:b}", "team", slug, "removed", 1),
              "Team %s is removed; its usage stays in the database.", slug);
    return 0;
}
