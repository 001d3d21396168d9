/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The functions and options of the rows in verbs.c, a file for each group. */
#pragma once

#include <jansson.h>

#include "cli/cli.h"

#define VERB(name) int verb_##name(struct cli_call *call, struct error **err)

/* verbs_account.c */
VERB(login);
VERB(logout);
VERB(deployments);
VERB(whoami);
VERB(key_create);
VERB(key_list);
VERB(key_revoke);
VERB(usage);
VERB(limits);
extern const struct cli_option login_options[], key_create_options[], key_revoke_options[],
    usage_options[], limits_options[];

/* verbs_sandbox.c */
VERB(create);
VERB(list);
VERB(show);
VERB(pause);
VERB(resume);
VERB(rm);
VERB(extend);
VERB(rollback);
VERB(rename);
VERB(hold);
VERB(release);
VERB(timeout);
VERB(fork);
extern const struct cli_option create_options[], list_options[], resume_options[], fork_options[];

/* verbs_exec.c */
VERB(exec);
VERB(shell);
extern const struct cli_option exec_options[], shell_options[];

/* verbs_copy.c */
VERB(cp);
VERB(sync);
extern const struct cli_option cp_options[], sync_options[];

/* verbs_attach.c */
struct session;
VERB(attach);
extern const struct cli_option attach_options[];

/* List on standard error the terminals without a client. */
void terminals_tell_left(struct cli *cli, const struct session *session);

/* verbs_network.c */
VERB(network_show);
VERB(network_set);
VERB(network_check);
VERB(network_denials);
VERB(network_approvals);
VERB(network_approve);
extern const struct cli_option network_set_options[], denials_options[], approve_options[];

/* verbs_checkpoint.c, verbs_template.c */
VERB(checkpoint_create);
VERB(checkpoint_list);
VERB(checkpoint_show);
VERB(checkpoint_rm);
extern const struct cli_option checkpoint_list_options[];
VERB(template_build);
VERB(template_list);
VERB(template_log);
VERB(template_tag);
VERB(template_untag);
VERB(template_rm);
VERB(template_show);
extern const struct cli_option template_build_options[], template_options[], template_log_options[];

/* Print the new lines of a version's log; fail when its build failed. The first operand names the
 * template. */
int template_print_log(struct cli_call *call, const char *version, bool follow, struct error **err);

/* verbs_events.c */
VERB(events);
extern const struct cli_option events_options[];

/* verbs_volume.c */
VERB(volume_cat);
VERB(volume_create);
VERB(volume_get);
VERB(volume_list);
VERB(volume_ls);
VERB(volume_mkdir);
VERB(volume_mv);
VERB(volume_put);
VERB(volume_rm);
VERB(volume_show);
extern const struct cli_option volume_create_options[], volume_list_options[], volume_put_options[],
    volume_rm_options[];

/* verbs_port.c */
VERB(forward);
VERB(open);
VERB(port_list);
VERB(port_expose);
VERB(port_withdraw);
extern const struct cli_option forward_options[], open_options[], port_expose_options[];

/* verbs_logs.c */
VERB(logs);
VERB(service_logs);
VERB(metrics);
extern const struct cli_option logs_options[], service_logs_options[], metrics_options[];

/* verbs_service.c */
VERB(service_list);
VERB(service_restart);

/* verbs_ssh_key.c */
VERB(ssh_key_add);
VERB(ssh_key_list);
VERB(ssh_key_rm);
extern const struct cli_option ssh_key_add_options[];

/* verbs_team.c */
VERB(member_list);
VERB(member_invite);
VERB(member_role);
VERB(member_rm);
VERB(link_create);
VERB(link_list);
VERB(link_rm);
VERB(join);
VERB(invitation_list);
VERB(invitation_accept);
VERB(invitation_decline);
extern const struct cli_option member_invite_options[], link_create_options[];

/* verbs_secret.c */
VERB(secret_set);
VERB(secret_list);
VERB(secret_rm);
extern const struct cli_option secret_set_options[], secret_team_options[];

/* verbs_webhook.c */
VERB(webhook_create);
VERB(webhook_list);
VERB(webhook_show);
VERB(webhook_test);
VERB(webhook_messages);
VERB(webhook_resend);
VERB(webhook_rm);
extern const struct cli_option webhook_create_options[], webhook_list_options[];

/* help.c, completion.c, manual.c */
VERB(help);
VERB(completion);
VERB(complete);
VERB(manual);
