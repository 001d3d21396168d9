/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/mem.h"
#include "ctl/output.h"

static json_t *user_json(const struct user *user)
{
    return json_pack("{s:s, s:s, s:s}", "id", user->id, "name", user->name, "personal_team_id",
                     user->personal_team_id);
}

int ctl_user_create(struct ctl *ctl, const struct ctl_arguments *arguments, struct error **err)
{
    struct user user;
    if (user_create(ctl->db, arguments->operands[0], &user, err) < 0)
        return -1;
    ctl_print(ctl, user_json(&user), "User %s (%s) with a personal team of the same name.",
              user.name, user.id);
    return 0;
}

int ctl_user_list(struct ctl *ctl, const struct ctl_arguments *arguments, struct error **err)
{
    static const struct ctl_column columns[] = {
        {"NAME", "name"}, {"ID", "id"}, {"PERSONAL TEAM", "personal_team_id"}};
    autofree struct user *users = NULL;
    unsigned count;
    (void)arguments;
    if (user_list(ctl->db, &users, &count, err) < 0)
        return -1;
    json_t *rows = json_array();
    for (unsigned i = 0; i < count; i++)
        json_array_append_new(rows, user_json(&users[i]));
    ctl_print_rows(ctl, "users", rows, columns, ARRAY_SIZE(columns));
    return 0;
}
