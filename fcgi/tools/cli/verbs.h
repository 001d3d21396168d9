/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The functions and options of the rows in verbs.def, a file for each group. */
#pragma once

#include <jansson.h>

#include "cli/cli.h"

#define VERB(name, operands, help, function, ...) cli_function verb_##function;
#include "cli/verbs.def"
#undef VERB

/* verbs_account.c */
extern const struct cli_option login_options[], key_create_options[], key_revoke_options[],
    usage_options[], limits_options[];

/* verbs_sandbox.c */
extern const struct cli_option create_options[], list_options[], resume_options[], fork_options[];

/* verbs_exec.c */
extern const struct cli_option exec_options[], shell_options[];

/* verbs_copy.c */
extern const struct cli_option cp_options[], sync_options[];

/* verbs_attach.c */
struct session;
extern const struct cli_option attach_options[];

/* List on standard error the terminals without a client. */
void terminals_tell_left(struct cli *cli, const struct session *session);

/* verbs_network.c */
extern const struct cli_option network_set_options[], denials_options[], approve_options[];

/* verbs_checkpoint.c, verbs_template.c */
extern const struct cli_option checkpoint_list_options[];
extern const struct cli_option template_build_options[], template_options[], template_log_options[];

/* Print the new lines of a version's log; fail when its build failed. The first operand names the
 * template. */
int template_print_log(struct cli_call *call, const char *version, bool follow, struct error **err);

/* verbs_events.c */
extern const struct cli_option events_options[];

/* verbs_volume.c */
extern const struct cli_option volume_create_options[], volume_list_options[], volume_put_options[],
    volume_rm_options[];

/* verbs_port.c */
extern const struct cli_option forward_options[], open_options[], port_expose_options[];

/* verbs_logs.c */
extern const struct cli_option logs_options[], service_logs_options[], metrics_options[];

/* verbs_ssh_key.c */
extern const struct cli_option ssh_key_add_options[];

/* verbs_team.c */
extern const struct cli_option member_invite_options[], link_create_options[];

/* verbs_secret.c */
extern const struct cli_option secret_set_options[], secret_team_options[];

/* verbs_webhook.c */
extern const struct cli_option webhook_create_options[], webhook_list_options[];
