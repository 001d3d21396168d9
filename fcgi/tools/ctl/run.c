/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Commands that change something are acts of an operator, which the audit log has. */
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"
#include "ctl/ctl.h"
#include "ctl/ctl_db.h"

/* The user of sudo, if there is one; root could write any name anyway. */
const char *ctl_operator(void)
{
    const char *behind = getuid() == 0 ? getenv("SUDO_USER") : NULL;
    const struct passwd *account = getpwuid(getuid());
    if (behind && *behind)
        return behind;
    return account ? account->pw_name : "";
}

/* The address of an SSH client. */
static void client_address(char out[46])
{
    const char *connection = getenv("SSH_CONNECTION");
    size_t length = connection ? strcspn(connection, " ") : 0;
    bool fits = length < 46 && strspn(connection ? connection : "", "0123456789abcdef:.") == length;
    snprintf(out, 46, "%.*s", fits ? (int)length : 0, connection ? connection : "");
}

static const char *resource_of(const struct ctl_command *command,
                               const struct ctl_arguments *arguments)
{
    const char *const options[] = {"user", "name"};
    for (unsigned i = 0; i < 2; i++)
        for (const struct ctl_option *option = command->options; option && option->name; option++)
            if (str_equal(option->name, options[i]) && ctl_text(arguments, options[i]))
                return ctl_text(arguments, options[i]);
    return arguments->operand_count ? arguments->operands[0] : "";
}

/* The team that a command is about belongs to its row, so that its owners see it too. */
static void find_team(struct ctl *ctl, const struct ctl_command *command,
                      const struct ctl_arguments *arguments)
{
    struct team team;
    error_auto ignored = NULL;
    if (str_starts_with(command->words, "team ") && arguments->operand_count &&
        slug_is_valid(arguments->operands[0]) &&
        team_get_by_slug(ctl->db, arguments->operands[0], &team, &ignored) == 0)
        memcpy(ctl->audit.entry.team_id, team.id, ID_SIZE);
}

static int open_act(struct ctl *ctl, const struct ctl_command *command,
                    const struct ctl_arguments *arguments, struct error **err)
{
    struct audit *audit = &ctl->audit;
    if (!ctl->ring && keyring_load(ctl->settings->key_file, &ctl->ring, err) < 0)
        return -1;
    audit->entry.actor = AUDIT_OPERATOR;
    snprintf(audit->entry.actor_id, sizeof audit->entry.actor_id, "%s", ctl_operator());
    client_address(audit->entry.address);
    audit_about(audit, resource_of(command, arguments));
    find_team(ctl, command, arguments);
    return audit_begin(audit, ctl->db, ctl->ring, err);
}

/* Put the id in place of TEAM/NAME, so that handlers and the audit log have ids only. */
static int find_sandbox(struct ctl *ctl, const struct ctl_command *command,
                        struct ctl_arguments *arguments, char id[ID_SIZE], struct error **err)
{
    const char *word = arguments->operands[0];
    const char *slash = str_starts_with(command->operands, "SANDBOX") ? strchr(word, '/') : NULL;
    if (!slash)
        return 0;
    autofree char *team = xasprintf("%.*s", (int)(slash - word), word);
    if (ctl_db_sandbox_named(ctl->db, team, slash + 1, id, err) < 0)
        return -1;
    arguments->operands[0] = id;
    return 0;
}

int ctl_run(struct ctl *ctl, const struct ctl_command *command, struct ctl_arguments *arguments,
            struct error **err)
{
    error_auto failure = NULL;
    char id[ID_SIZE];
    ctl->audit = (struct audit){.only_changes = true};
    if (find_sandbox(ctl, command, arguments, id, err) < 0)
        return -1;
    if (command->need >= CTL_DATABASE)
        ctl->audit.action = audit_action_of_command(command->words);
    if (!ctl->audit.action)
        return command->run(ctl, arguments, err);
    if (open_act(ctl, command, arguments, err) < 0)
        return -1;
    int result = command->run(ctl, arguments, &failure);
    error_auto lost = NULL;
    if (audit_end(&ctl->audit, failure, &lost) < 0 && result == 0)
        return error_move(err, &lost);
    return result < 0 ? error_move(err, &failure) : 0;
}
