/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "account/removal.h"
#include "base/mem.h"
#include "ctl/output.h"
#include "login/identity.h"
#include "login/invite.h"

#define USERS_MAX 100000

static json_t *user_json(const struct user *user)
{
    return json_pack("{s:s, s:s, s:s, s:b, s:b, s:i, s:o}", "id", user->id, "name", user->name,
                     "personal_team_id", user->personal_team_id, "password",
                     (int)user->has_password, "second_factor", (int)user->has_second_factor,
                     "passkeys", (int)user->passkeys, "disabled_at",
                     time_to_json(user->disabled_at_ms));
}

int ctl_user_create(struct ctl *ctl, const struct ctl_arguments *arguments, struct error **err)
{
    struct user user = {0};
    if (user_create(ctl->db, arguments->operands[0], &user, err) < 0)
        return -1;
    ctl_print(ctl, user_json(&user), "User %s (%s) with a personal team of the same name.",
              user.name, user.id);
    return 0;
}

int ctl_user_list(struct ctl *ctl, const struct ctl_arguments *arguments, struct error **err)
{
    static const struct ctl_column columns[] = {{"NAME", "name"},
                                                {"ID", "id"},
                                                {"PERSONAL TEAM", "personal_team_id"},
                                                {"PASSWORD", "password"},
                                                {"SECOND FACTOR", "second_factor"},
                                                {"PASSKEYS", "passkeys"},
                                                {"DISABLED", "disabled_at"}};
    autofree struct user *users = NULL;
    unsigned count;
    (void)arguments;
    if (user_list(ctl->db, "", USERS_MAX, &users, &count, err) < 0)
        return -1;
    json_t *rows = JSON_LIST(users, count, user_json);
    ctl_print_rows(ctl, "users", rows, columns, ARRAY_SIZE(columns));
    return 0;
}

/* The token stands after a '#', which browsers do not send. Without --json the link stands
 * alone. */
static int print_invite(struct ctl *ctl, const struct user *user, struct error **err)
{
    char token[SECRET_TEXT_SIZE];
    int64_t expires_at_ms;
    if (invite_create(ctl->db, ctl->ring, ctl->settings, user->id, token, &expires_at_ms, err) < 0)
        return -1;
    autowipe char *link = xasprintf("%s/invite#%s", ctl->settings->console_url, token);
    ctl_print(ctl,
              json_pack("{s:s, s:s, s:o}", "user", user->name, "link", link, "expires_at",
                        time_to_json(expires_at_ms)),
              "%s", link);
    mem_wipe(token, sizeof token);
    return 0;
}

static int check_console(const struct ctl *ctl, struct error **err)
{
    if (*ctl->settings->console_url)
        return 0;
    return error_set(err, ERR_CONFIG,
                     "this deployment has no console: console_url is empty in the settings");
}

int ctl_user_invite(struct ctl *ctl, const struct ctl_arguments *arguments, struct error **err)
{
    struct user user;
    const char *name = arguments->operands[0];
    if (check_console(ctl, err) < 0 || user_get_by_name(ctl->db, name, &user, err) < 0)
        return -1;
    if (user.disabled_at_ms)
        return error_set(err, ERR_INVALID_REQUEST, "user %s is disabled; enable it first", name);
    if (user.has_password)
        return error_set(err, ERR_INVALID_REQUEST,
                         "user %s has a password; `sandlotctl user reset` deletes it", name);
    return print_invite(ctl, &user, err);
}

int ctl_user_reset(struct ctl *ctl, const struct ctl_arguments *arguments, struct error **err)
{
    struct user user;
    if (check_console(ctl, err) < 0 ||
        user_get_by_name(ctl->db, arguments->operands[0], &user, err) < 0 ||
        credential_reset(ctl->db, user.id, err) < 0)
        return -1;
    return print_invite(ctl, &user, err);
}

int ctl_user_disable(struct ctl *ctl, const struct ctl_arguments *arguments, struct error **err)
{
    struct user user;
    if (user_get_by_name(ctl->db, arguments->operands[0], &user, err) < 0 ||
        credential_disable(ctl->db, user.id, err) < 0)
        return -1;
    ctl_print(ctl, json_pack("{s:s, s:b}", "user", user.name, "disabled", 1),
              "User %s is disabled. The sign-ins have ended, and sandlot refuses the password and "
              "keys. Sandboxes stay.",
              user.name);
    return 0;
}

int ctl_user_enable(struct ctl *ctl, const struct ctl_arguments *arguments, struct error **err)
{
    struct user user;
    if (user_get_by_name(ctl->db, arguments->operands[0], &user, err) < 0 ||
        credential_enable(ctl->db, user.id, err) < 0)
        return -1;
    ctl_print(ctl, json_pack("{s:s, s:b}", "user", user.name, "disabled", 0),
              "User %s is enabled: the password and keys are valid again.", user.name);
    return 0;
}

int ctl_user_link(struct ctl *ctl, const struct ctl_arguments *arguments, struct error **err)
{
    struct user user;
    const char *subject = ctl_text(arguments, "subject"), *issuer = ctl->settings->oidc_issuer;
    if (!*issuer)
        return error_set(
            err, ERR_CONFIG,
            "this deployment has no identity provider: oidc_issuer is empty in the settings");
    if (!identity_is_valid(subject) || !identity_is_valid(issuer))
        return error_set(err, ERR_INVALID_REQUEST,
                         "a subject has 1 to %d ASCII characters without blanks", IDENTITY_MAX);
    if (user_get_by_name(ctl->db, arguments->operands[0], &user, err) < 0 ||
        identity_link(ctl->db, issuer, subject, user.id, err) < 0)
        return -1;
    ctl_print(ctl, json_pack("{s:s, s:s}", "user", user.name, "subject", subject),
              "User %s is linked to the identity provider's subject %s.", user.name, subject);
    return 0;
}

int ctl_user_remove(struct ctl *ctl, const struct ctl_arguments *arguments, struct error **err)
{
    const char *name = arguments->operands[0], *heir = ctl_text(arguments, "heir");
    if (user_remove(ctl->db, name, heir, err) < 0)
        return -1;
    ctl_print(
        ctl, json_pack("{s:s, s:b}", "user", name, "removed", 1),
        "User %s is removed. The user's sandboxes and other objects stay with their teams%s%s.",
        name, heir ? "; teams without another owner now have " : "", heir ? heir : "");
    return 0;
}
