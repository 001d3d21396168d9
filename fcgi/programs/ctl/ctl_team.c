/* SPDX-License-Identifier: GPL-2.0-or-later */
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
    json_t *rows = json_array();
    for (unsigned i = 0; i < count; i++)
        json_array_append_new(rows, team_json(&teams[i]));
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
    ctl_print(ctl, team_json(&team), "Team %s is on the plan %s now.", team.slug, team.plan);
    return 0;
}

int ctl_team_add_member(struct ctl *ctl, const struct ctl_arguments *arguments, struct error **err)
{
    const char *slug = arguments->operands[0], *user = ctl_text(arguments, "user");
    if (team_add_member(ctl->db, slug, user, err) < 0)
        return -1;
    ctl_print(ctl, json_pack("{s:s, s:s}", "team", slug, "user", user),
              "User %s is a member of team %s.", user, slug);
    return 0;
}
