/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sandlotctl: administration. Each command is a row of the table in command.c. A row has its words,
 * its operands and options, the resources to open before it runs, and its handler. A handler prints
 * through output.h and returns 0, or -1 with an error that main() prints (exit status 1).
 */
#pragma once

#include <stdbool.h>

#include "account/account.h"
#include "audit/audit.h"
#include "config/settings.h"
#include "crypto/keyring.h"
#include "ctl/arguments.h"
#include "db/db.h"
#include "host/runtimes.h"
#include "worker/worker.h"

struct ctl {
    const char *config_path;
    bool json;       /* print JSON */
    int exit_status; /* of a command that succeeded and has more to say than that */
    struct settings *settings;
    struct keyring *ring;
    struct db *db;
    struct runtimes *runtimes;
    struct audit audit; /* of a command that changes something; see ctl_run() */
};

/* The resources of a command; each includes the previous ones, except the key ring. */
enum ctl_need {
    CTL_NOTHING,
    CTL_SETTINGS,
    CTL_CONNECTION, /* a database of any schema version */
    CTL_DATABASE,   /* a database with the schema of this build */
    CTL_RUNTIMES,   /* also connections to the hosts */
    CTL_KEYRING,    /* a database and the key ring */
    CTL_WORKER,     /* the whole worker */
};

struct ctl_command {
    const char *words;    /* "user create" */
    const char *operands; /* "NAME"; "..." after the last one: one or more; [...]: any number */
    const struct ctl_option *options; /* ends with a row without a name; NULL: none */
    enum ctl_need need;
    int (*run)(struct ctl *ctl, const struct ctl_arguments *arguments, struct error **err);
    const char *summary;
};

/* Return the row whose words the arguments begin with; *used: the number of its words. NULL for an
 * unknown command, after a message on standard error. */
const struct ctl_command *ctl_command_find(int argc, char **argv, int *used);

/* Print `sandlotctl user create NAME`, and with options_too its options. */
void ctl_command_print_usage(FILE *out, const struct ctl_command *command, bool options_too);
/* Explain each option. */
void ctl_command_print_options(FILE *out, const struct ctl_command *command);
void ctl_command_print_all(FILE *out);

/* Open the resources of a command. */
int ctl_open(struct ctl *ctl, enum ctl_need need, struct error **err);
void ctl_close(struct ctl *ctl);

/* Open a connection to a host's Incus; the host needs no row. The caller closes it. */
struct incus;
int ctl_open_incus(const struct ctl *ctl, const struct host *host, struct incus **incus,
                   struct error **err);

/* Call the handler of a command, and record its change as an act of the operator
 * (audit/actions.def); the handler may add details to ctl->audit. A sandbox TEAM/NAME among the
 * arguments becomes its id. */
const char *ctl_operator(void); /* the login behind it */
int ctl_run(struct ctl *ctl, const struct ctl_command *command, struct ctl_arguments *arguments,
            struct error **err);

/* Return the worker of a handler that needs CTL_WORKER. When the operator interrupts an operation,
 * a dispatcher finishes it after its lease has run out. */
struct worker ctl_worker(const struct ctl *ctl);

/* All commands, for tests. */
extern const struct ctl_command ctl_commands[];
extern const unsigned ctl_command_count;

/* Bring the database to the schema of this build, and grant the programs' database user its rights.
 * applied: the number of migrations. */
int ctl_migrate_schema(struct ctl *ctl, unsigned *applied, struct error **err);

/* --- handlers, by the file they are in --- */

#define CTL_HANDLER(name) \
    int name(struct ctl *ctl, const struct ctl_arguments *arguments, struct error **err)

CTL_HANDLER(ctl_audit);
CTL_HANDLER(ctl_audit_prune);
CTL_HANDLER(ctl_audit_verify);
CTL_HANDLER(ctl_backup);
CTL_HANDLER(ctl_backup_recipient);
CTL_HANDLER(ctl_restore);
CTL_HANDLER(ctl_user_create);
CTL_HANDLER(ctl_user_list);
CTL_HANDLER(ctl_user_invite);
CTL_HANDLER(ctl_user_link);
CTL_HANDLER(ctl_user_reset);
CTL_HANDLER(ctl_user_disable);
CTL_HANDLER(ctl_user_enable);
CTL_HANDLER(ctl_user_remove);
CTL_HANDLER(ctl_team_create);
CTL_HANDLER(ctl_team_list);
CTL_HANDLER(ctl_team_remove);
CTL_HANDLER(ctl_team_set_plan);
CTL_HANDLER(ctl_team_add_member);
CTL_HANDLER(ctl_team_remove_member);
CTL_HANDLER(ctl_team_list_members);
CTL_HANDLER(ctl_key_create);
CTL_HANDLER(ctl_key_list);
CTL_HANDLER(ctl_key_revoke);
CTL_HANDLER(ctl_limits);
CTL_HANDLER(ctl_ssh_key_add);
CTL_HANDLER(ctl_ssh_key_list);
CTL_HANDLER(ctl_ssh_key_remove);
CTL_HANDLER(ctl_ssh_record);
CTL_HANDLER(ctl_plan_list);
CTL_HANDLER(ctl_plan_create);
CTL_HANDLER(ctl_plan_remove);
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
CTL_HANDLER(ctl_holes_list);
CTL_HANDLER(ctl_holes_refresh);
CTL_HANDLER(ctl_host_add);
CTL_HANDLER(ctl_host_install);
CTL_HANDLER(ctl_host_list);
CTL_HANDLER(ctl_host_renew);
CTL_HANDLER(ctl_host_authority);
CTL_HANDLER(ctl_host_certificate);
CTL_HANDLER(ctl_host_drain);
CTL_HANDLER(ctl_host_activate);
CTL_HANDLER(ctl_host_lost);
CTL_HANDLER(ctl_host_remove);
CTL_HANDLER(ctl_host_token);
CTL_HANDLER(ctl_sandbox_delete);
CTL_HANDLER(ctl_sandbox_list);
CTL_HANDLER(ctl_sandbox_log);
CTL_HANDLER(ctl_sandbox_move);
CTL_HANDLER(ctl_sandbox_resume);
CTL_HANDLER(ctl_sandbox_pause);
CTL_HANDLER(ctl_whoami);
CTL_HANDLER(ctl_status);
CTL_HANDLER(ctl_check);
CTL_HANDLER(ctl_doctor);
CTL_HANDLER(ctl_migrate);
CTL_HANDLER(ctl_keyring_add);
CTL_HANDLER(ctl_keyring_drop);
CTL_HANDLER(ctl_keyring_forget);
CTL_HANDLER(ctl_keyring_reseal);
CTL_HANDLER(ctl_keyring_new);
CTL_HANDLER(ctl_keyring_rotate);
CTL_HANDLER(ctl_keyring_use);
CTL_HANDLER(ctl_config_manual);
CTL_HANDLER(ctl_config_sample);
CTL_HANDLER(ctl_nginx_config);
