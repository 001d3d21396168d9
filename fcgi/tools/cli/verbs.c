/* SPDX-License-Identifier: GPL-2.0-or-later */
/* All verbs. What is not done has no row. */
#include "cli/verbs.h"

#include "base/mem.h"

const struct cli_option cli_common_options[] = {
    {"deployment", 'd', "DEPLOYMENT", "one that `sandlot login` made"},
    {"ca", 0, "FILE", "certificates of the authority that the service's one is of"},
    {"json", 'j', NULL, "say it as JSON"},
    {"help", 'h', NULL, "say what the command takes"},
    {NULL, 0, NULL, NULL},
};

#define MANY 65536

const struct cli_verb cli_verbs[] = {
    {"login", "URL", "Keep a key for a deployment, of the console or from standard input",
     verb_login, login_options, 1, 1, CLI_OFFLINE},
    {"logout", "[DEPLOYMENT]", "Forget a deployment and its key", verb_logout, NULL, 0, 1,
     CLI_OFFLINE},
    {"deployments", "", "List the deployments that are known", verb_deployments, NULL, 0, 0,
     CLI_OFFLINE},
    {"whoami", "", "Show the user, the key and the teams", verb_whoami, NULL, 0, 0, 0},

    {"create", "[TEMPLATE]", "Make a sandbox and print its id", verb_create, create_options, 0, 1,
     0},
    {"list", "", "List sandboxes", verb_list, list_options, 0, 0, 0},
    {"show", "SANDBOX", "Show a sandbox", verb_show, NULL, 1, 1, 0},
    {"exec", "SANDBOX COMMAND [ARGUMENT...]", "Run a command in a sandbox", verb_exec, exec_options,
     2, MANY, CLI_REST | CLI_EXEC},
    {"shell", "SANDBOX", "Open a shell in a sandbox", verb_shell, shell_options, 1, 1, CLI_EXEC},
    {"attach", "SANDBOX [PROCESS]",
     "Enter a terminal again that goes on since its connection broke", verb_attach, attach_options,
     1, 2, CLI_EXEC},
    {"cp", "SOURCE TARGET", "Copy a file or folder; one of the two is SANDBOX:PATH", verb_cp,
     cp_options, 2, 2, 0},
    {"sync", "FOLDER TARGET",
     "Make a folder of a sandbox like one of this machine; TARGET is "
     "SANDBOX:PATH",
     verb_sync, sync_options, 2, 2, 0},
    {"forward", "SANDBOX [LOCAL:]PORT", "Serve a port of a sandbox at 127.0.0.1", verb_forward,
     forward_options, 2, 2, 0},
    {"open", "SANDBOX PORT", "Print the address of a port and open it in a browser", verb_open,
     open_options, 2, 2, 0},
    {"pause", "SANDBOX", "Put a sandbox aside, with its memory", verb_pause, NULL, 1, 1, 0},
    {"resume", "SANDBOX", "Make a paused sandbox run again", verb_resume, resume_options, 1, 1, 0},
    {"extend", "SANDBOX DURATION", "Let a sandbox live so long from now on", verb_extend, NULL, 2,
     2, 0},
    {"rm", "SANDBOX...", "Delete sandboxes", verb_rm, NULL, 1, MANY, 0},

    {"checkpoint create", "SANDBOX [NAME]", "Keep the disk of a sandbox as it is now",
     verb_checkpoint_create, NULL, 1, 2, 0},
    {"checkpoint list", "", "List checkpoints", verb_checkpoint_list, checkpoint_list_options, 0, 0,
     0},
    {"checkpoint show", "CHECKPOINT", "Show a checkpoint", verb_checkpoint_show, NULL, 1, 1, 0},
    {"checkpoint rm", "CHECKPOINT...", "Delete checkpoints", verb_checkpoint_rm, NULL, 1, MANY, 0},

    {"network show", "SANDBOX", "Show what a sandbox may reach", verb_network_show, NULL, 1, 1, 0},
    {"network set", "SANDBOX", "Replace what a sandbox may reach", verb_network_set,
     network_set_options, 1, 1, 0},
    {"network check", "SANDBOX HOST PORT", "Explain whether it may reach a host; 1 if not",
     verb_network_check, NULL, 3, 3, 0},
    {"network denials", "SANDBOX", "Show what it was refused", verb_network_denials,
     denials_options, 1, 1, 0},

    {"volume create", "NAME", "Make a volume and print its id", verb_volume_create,
     volume_create_options, 1, 1, 0},
    {"volume list", "", "List volumes", verb_volume_list, NULL, 0, 0, 0},
    {"volume show", "VOLUME", "Show a volume", verb_volume_show, NULL, 1, 1, 0},
    {"volume delete", "VOLUME", "Delete a volume with all that is in it", verb_volume_delete, NULL,
     1, 1, 0},
    {"volume ls", "VOLUME:PATH", "List a folder of a volume", verb_volume_ls, NULL, 1, 1, 0},
    {"volume put", "FILE VOLUME:PATH", "Write a file into a volume; - is standard input",
     verb_volume_put, volume_put_options, 2, 2, 0},
    {"volume get", "VOLUME:PATH [FILE]", "Fetch a file of a volume", verb_volume_get, NULL, 1, 2,
     0},
    {"volume cat", "VOLUME:PATH", "Print a file of a volume", verb_volume_cat, NULL, 1, 1, 0},
    {"volume mkdir", "VOLUME:PATH", "Make a folder in a volume", verb_volume_mkdir, NULL, 1, 1, 0},
    {"volume mv", "VOLUME:PATH PATH", "Rename in a volume", verb_volume_mv, NULL, 2, 2, 0},
    {"volume rm", "VOLUME:PATH", "Remove a file or folder of a volume", verb_volume_rm,
     volume_rm_options, 1, 1, 0},

    {"template list", "", "List templates", verb_template_list, template_options, 0, 0, 0},
    {"template show", "TEMPLATE", "List the versions of a template", verb_template_show,
     template_options, 1, 1, 0},
    {"template build", "TEMPLATE", "Make a template, or a version of it, and print its number",
     verb_template_build, template_build_options, 1, 1, 0},
    {"template log", "TEMPLATE [VERSION]", "Show the log of a build", verb_template_log,
     template_log_options, 1, 2, 0},
    {"template tag", "TEMPLATE TAG VERSION", "Let a tag point to a version", verb_template_tag,
     template_options, 3, 3, 0},
    {"template untag", "TEMPLATE TAG", "Take a tag away", verb_template_untag, template_options, 2,
     2, 0},
    {"template rm", "TEMPLATE [VERSION]", "Delete a version, or all of a template",
     verb_template_rm, template_options, 1, 2, 0},

    {"key create", "NAME", "Make an API key and print it", verb_key_create, key_create_options, 1,
     1, 0},
    {"key list", "", "List your API keys", verb_key_list, NULL, 0, 0, 0},
    {"key revoke", "KEY", "End an API key", verb_key_revoke, NULL, 1, 1, 0},
    {"events", "", "List what has happened, oldest first", verb_events, events_options, 0, 0, 0},
    {"usage", "", "Show what a team has used", verb_usage, usage_options, 0, 0, 0},

    {"help", "[COMMAND...]", "List the commands, or say what one takes", verb_help, NULL, 0, 2,
     CLI_OFFLINE},
    {"completion", "SHELL", "Print the completion for bash, zsh or fish", verb_completion, NULL, 1,
     1, CLI_OFFLINE},
    {"__complete", "[WORD...]", "", verb_complete, NULL, 0, MANY,
     CLI_OFFLINE | CLI_HIDDEN | CLI_REST},
    {"__manual", "", "", verb_manual, NULL, 0, 0, CLI_OFFLINE | CLI_HIDDEN},
};
const size_t cli_verb_count = ARRAY_SIZE(cli_verbs);
