/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sandlotctl: administration. Each command is a row of the table in command.c that says what words
 * call it, what it takes, what must be open before it runs, and who handles it. A handler prints
 * through output.h and returns 0, or -1 with an error that main() prints (exit status 1).
 */
#pragma once

#include <stdbool.h>

#include "account/account.h"
#include "config/settings.h"
#include "crypto/keyring.h"
#include "ctl/arguments.h"
#include "db/db.h"
#include "host/runtimes.h"

struct ctl {
    const char *config_path;
    bool json; /* print JSON */
    struct settings *settings;
    struct keyring *ring;
    struct db *db;
    struct runtimes *runtimes;
};

/* What a command needs; each includes the ones before it, except the key ring. */
enum ctl_need {
    CTL_NOTHING,
    CTL_SETTINGS,
    CTL_CONNECTION, /* a database of whatever schema */
    CTL_DATABASE,   /* a database with the schema of this build */
    CTL_RUNTIMES,   /* also connections to the hosts */
    CTL_KEYRING,    /* a database and the key ring */
};

struct ctl_command {
    const char *words; /* "user create" */
    const char
        *operands; /* "NAME"; "..." behind the last: one or more of it, and none with [...] */
    const struct ctl_option *options; /* ends with a row without a name; NULL: none */
    enum ctl_need need;
    int (*run)(struct ctl *ctl, const struct ctl_arguments *arguments, struct error **err);
    const char *summary;
};

/* The row whose words the arguments begin with; *used: how many of them are its words. NULL when
 * there is none, after a message on standard error. */
const struct ctl_command *ctl_command_find(int argc, char **argv, int *used);

/* `sandlotctl user create NAME`, and with options_too what options it takes. */
void ctl_command_print_usage(FILE *out, const struct ctl_command *command, bool options_too);
void ctl_command_print_all(FILE *out);

/* Open what a command needs. */
int ctl_open(struct ctl *ctl, enum ctl_need need, struct error **err);
void ctl_close(struct ctl *ctl);

/* Every statement that administration runs, for its own tests. */
extern const struct db_statement_list ctl_statements;

/* --- handlers, by the file they are in --- */

#define CTL_HANDLER(name) \
    int name(struct ctl *ctl, const struct ctl_arguments *arguments, struct error **err)

CTL_HANDLER(ctl_user_create);
CTL_HANDLER(ctl_user_list);
CTL_HANDLER(ctl_team_create);
CTL_HANDLER(ctl_team_list);
CTL_HANDLER(ctl_team_set_plan);
CTL_HANDLER(ctl_team_add_member);
CTL_HANDLER(ctl_key_create);
CTL_HANDLER(ctl_key_list);
CTL_HANDLER(ctl_key_revoke);
CTL_HANDLER(ctl_plan_list);
CTL_HANDLER(ctl_plan_set);
CTL_HANDLER(ctl_profile_list);
CTL_HANDLER(ctl_profile_show);
CTL_HANDLER(ctl_profile_set);
CTL_HANDLER(ctl_profile_delete);
CTL_HANDLER(ctl_template_add);
CTL_HANDLER(ctl_template_list);
CTL_HANDLER(ctl_template_delete);
CTL_HANDLER(ctl_image_allow);
CTL_HANDLER(ctl_image_disallow);
CTL_HANDLER(ctl_image_list);
CTL_HANDLER(ctl_host_add);
CTL_HANDLER(ctl_host_list);
CTL_HANDLER(ctl_host_drain);
CTL_HANDLER(ctl_host_activate);
CTL_HANDLER(ctl_sandbox_list);
CTL_HANDLER(ctl_status);
CTL_HANDLER(ctl_doctor);
CTL_HANDLER(ctl_migrate);
CTL_HANDLER(ctl_keyring_new);
CTL_HANDLER(ctl_keyring_rotate);
CTL_HANDLER(ctl_config_manual);
CTL_HANDLER(ctl_config_sample);
CTL_HANDLER(ctl_nginx_config);
