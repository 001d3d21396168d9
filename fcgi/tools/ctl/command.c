/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "ctl/ctl.h"

#define OPTIONS static const struct ctl_option
#define END                               \
    {                                     \
        NULL, CTL_FLAG, false, NULL, 0, 0 \
    }

/* No operand: it may begin with a hyphen. */
OPTIONS team_create_options[] = {
    {"plan", CTL_TEXT, true, "PLAN", 0, 0}, {"owner", CTL_TEXT, true, "USER", 0, 0}, END};
OPTIONS team_add_member_options[] = {{"user", CTL_TEXT, true, "USER", 0, 0},
                                     {"role", CTL_CHOICE, false, "owner|member|viewer", 0, 0},
                                     END};
OPTIONS team_remove_member_options[] = {{"user", CTL_TEXT, true, "USER", 0, 0}, END};
OPTIONS user_link_options[] = {{"subject", CTL_TEXT, true, "SUBJECT", 0, 0}, END};
OPTIONS key_create_options[] = {
    {"user", CTL_TEXT, true, "USER", 0, 0},  {"scope", CTL_CHOICE, true, "read|write", 0, 0},
    {"team", CTL_LIST, false, "SLUG", 0, 0}, {"expires", CTL_TEXT, false, "TIME", 0, 0},
    {"name", CTL_TEXT, false, "NAME", 0, 0}, END};
OPTIONS key_list_options[] = {{"user", CTL_TEXT, false, "USER", 0, 0}, END};
OPTIONS template_add_options[] = {{"image", CTL_TEXT, true, "ALIAS", 0, 0},
                                  {"cpu", CTL_NUMBER, false, "N", 1, 1024},
                                  {"memory-mb", CTL_NUMBER, false, "N", 64, 16777216},
                                  {"team", CTL_TEXT, false, "SLUG", 0, 0},
                                  {"net-admin", CTL_FLAG, false, NULL, 0, 0},
                                  {"default", CTL_FLAG, false, NULL, 0, 0},
                                  END};
OPTIONS template_list_options[] = {{"team", CTL_TEXT, false, "SLUG", 0, 0}, END};
OPTIONS host_add_options[] = {{"url", CTL_TEXT, true, "URL", 0, 0},
                              {"server-cert", CTL_TEXT, false, "FILE", 0, 0},
                              {"project", CTL_TEXT, true, "PROJECT", 0, 0},
                              {"pool", CTL_TEXT, true, "POOL", 0, 0},
                              {"range", CTL_TEXT, true, "CIDR", 0, 0},
                              {"network", CTL_TEXT, false, "CIDR", 0, 0},
                              {"nic-prefix", CTL_TEXT, true, "PREFIX", 0, 0},
                              {"vcpus", CTL_NUMBER, true, "N", 1, 1000000},
                              {"memory-mb", CTL_NUMBER, true, "N", 64, 2147483648},
                              {"memory-overcommit", CTL_NUMBER, false, "PERCENT", 100, 2000},
                              {"disk-overcommit", CTL_NUMBER, false, "N", 0, 10000},
                              {"firewall", CTL_TEXT, false, "URL", 0, 0},
                              {"relay", CTL_TEXT, false, "URL", 0, 0},
                              END};
OPTIONS profile_set_options[] = {
    {"file", CTL_LIST, false, "FILE", 0, 0}, {"empty", CTL_FLAG, false, NULL, 0, 0}, END};
OPTIONS sandbox_list_options[] = {
    {"team", CTL_TEXT, false, "SLUG", 0, 0}, {"limit", CTL_NUMBER, false, "N", 1, 10000}, END};
OPTIONS ssh_key_add_options[] = {{"user", CTL_TEXT, true, "USER", 0, 0},
                                 {"team", CTL_LIST, false, "SLUG", 0, 0},
                                 {"name", CTL_TEXT, false, "NAME", 0, 0},
                                 END};
OPTIONS ssh_record_options[] = {{"name", CTL_TEXT, true, "HOST", 0, 0}, END};
OPTIONS audit_options[] = {
    {"team", CTL_TEXT, false, "SLUG", 0, 0},          {"action", CTL_TEXT, false, "ACTION", 0, 0},
    {"resource", CTL_TEXT, false, "RESOURCE", 0, 0},  {"actor", CTL_TEXT, false, "ACTOR", 0, 0},
    {"since", CTL_TEXT, false, "TIME", 0, 0},         {"until", CTL_TEXT, false, "TIME", 0, 0},
    {"limit", CTL_NUMBER, false, "N", 1, 1000000000}, END};
OPTIONS backup_options[] = {{"passphrase-file", CTL_TEXT, false, "FILE", 0, 0},
                            {"recipient", CTL_TEXT, false, "KEY", 0, 0},
                            {"without-keys", CTL_FLAG, false, NULL, 0, 0},
                            {"base", CTL_TEXT, false, "DIR", 0, 0},
                            {"sandbox", CTL_LIST, false, "ID", 0, 0},
                            {"no-sandboxes", CTL_FLAG, false, NULL, 0, 0},
                            END};
OPTIONS restore_options[] = {{"check", CTL_FLAG, false, NULL, 0, 0},
                             {"passphrase-file", CTL_TEXT, false, "FILE", 0, 0},
                             {"identity-file", CTL_TEXT, false, "FILE", 0, 0},
                             {"without-keys", CTL_FLAG, false, NULL, 0, 0},
                             END};
OPTIONS plan_create_options[] = {{"from", CTL_TEXT, true, "PLAN", 0, 0}, END};
OPTIONS user_remove_options[] = {{"heir", CTL_TEXT, false, "USER", 0, 0}, END};
OPTIONS sandbox_stop_options[] = {{"without-memory", CTL_FLAG, false, NULL, 0, 0}, END};
OPTIONS sandbox_resume_options[] = {{"timeout", CTL_NUMBER, false, "SECONDS", 1, 31536000},
                                    {"without-memory", CTL_FLAG, false, NULL, 0, 0},
                                    END};
OPTIONS sandbox_log_options[] = {
    {"dir", CTL_TEXT, false, "DIR", 0, 0}, {"file", CTL_LIST, false, "FILE", 0, 0}, END};
OPTIONS audit_verify_options[] = {{"anchor", CTL_TEXT, false, "LINK:HASH", 0, 0}, END};
OPTIONS limits_options[] = {{"markdown", CTL_FLAG, false, NULL, 0, 0}, END};
OPTIONS nginx_config_options[] = {{"output", CTL_TEXT, false, "DIR", 0, 0},
                                  {"watch", CTL_FLAG, false, NULL, 0, 0},
                                  {"pid-file", CTL_TEXT, false, "FILE", 0, 0},
                                  END};
OPTIONS host_drain_options[] = {{"stay", CTL_FLAG, false, NULL, 0, 0},
                                {"move-running", CTL_FLAG, false, NULL, 0, 0},
                                {"wait", CTL_FLAG, false, NULL, 0, 0},
                                END};
OPTIONS host_lost_options[] = {{"yes", CTL_FLAG, false, NULL, 0, 0}, END};
OPTIONS host_token_options[] = {{"range", CTL_TEXT, true, "CIDR", 0, 0},
                                {"network", CTL_TEXT, false, "CIDR", 0, 0},
                                {"nic-prefix", CTL_TEXT, false, "PREFIX", 0, 0},
                                {"project", CTL_TEXT, false, "PROJECT", 0, 0},
                                {"pool", CTL_TEXT, false, "POOL", 0, 0},
                                {"vcpus", CTL_NUMBER, false, "N", 1, 1000000},
                                {"memory-mb", CTL_NUMBER, false, "N", 64, 2147483647},
                                {"memory-overcommit", CTL_NUMBER, false, "PERCENT", 100, 2000},
                                {"disk-overcommit", CTL_NUMBER, false, "N", 0, 10000},
                                {"front", CTL_TEXT, false, "ADDRESS", 0, 0},
                                {"minutes", CTL_NUMBER, false, "N", 1, 1440},
                                END};
OPTIONS host_certificate_options[] = {{"range", CTL_TEXT, true, "CIDR", 0, 0},
                                      {"output", CTL_TEXT, true, "DIR", 0, 0},
                                      {"dir", CTL_TEXT, false, "DIR", 0, 0},
                                      {"port", CTL_NUMBER, false, "N", 1, 65535},
                                      END};

const struct ctl_command ctl_commands[] = {
    {"audit prune", "", NULL, CTL_KEYRING, ctl_audit_prune,
     "delete the audit rows that the plans do not keep, as the dispatcher does once a day"},
    {"audit verify", "", audit_verify_options, CTL_KEYRING, ctl_audit_verify,
     "say the first row of the audit log that was changed, removed or put in"},
    {"audit", "", audit_options, CTL_DATABASE, ctl_audit,
     "list the audit log, newest first; with --json one line for each row"},
    {"backup recipient", "FILE", NULL, CTL_NOTHING, ctl_backup_recipient,
     "make a key pair: the private key in FILE opens the backups for the public key"},
    {"backup", "DIR", backup_options, CTL_RUNTIMES, ctl_backup,
     "write database, key ring, templates, volumes, checkpoints and stopped sandboxes to a folder"},
    {"check", "", NULL, CTL_NOTHING, ctl_check,
     "print the findings of doctor in one line, as a plug-in of Nagios, Icinga or Naemon"},
    {"config manual", "", NULL, CTL_NOTHING, ctl_config_manual,
     "print the manual page of the settings file"},
    {"config sample", "", NULL, CTL_NOTHING, ctl_config_sample,
     "print a settings file with every setting and its default"},
    {"doctor", "", NULL, CTL_NOTHING, ctl_doctor,
     "check this installation and print advice for each fault"},
    {"holes list", "", NULL, CTL_NOTHING, ctl_holes_list,
     "list the known security holes of the programs that sandboxes touch"},
    {"holes refresh", "FILE", NULL, CTL_NOTHING, ctl_holes_refresh,
     "replace that list by the JSON file of Debian's security tracker (-: standard input)"},
    {"host activate", "NAME", NULL, CTL_RUNTIMES, ctl_host_activate,
     "let a host take new sandboxes again, and build the templates that it lacks"},
    {"host add", "NAME", host_add_options, CTL_RUNTIMES, ctl_host_add,
     "add a runtime host, or change the host with this name, and make it ready"},
    {"host authority", "", NULL, CTL_SETTINGS, ctl_host_authority,
     "make the authority for the relays of other machines, and this front's certificate"},
    {"host certificate", "NAME", host_certificate_options, CTL_SETTINGS, ctl_host_certificate,
     "make or renew certificate, key and nginx configuration for the relay of a host"},
    {"host drain", "NAME", host_drain_options, CTL_DATABASE, ctl_host_drain,
     "put nothing new on a host and move its sandboxes to others; --stay: move none"},
    {"host list", "", NULL, CTL_DATABASE, ctl_host_list,
     "list hosts, whether they answer, and their reservations"},
    {"host lost", "NAME", host_lost_options, CTL_WORKER, ctl_host_lost,
     "give up a host that will not come back, with everything on it"},
    {"host remove", "NAME", NULL, CTL_DATABASE, ctl_host_remove,
     "remove a host that is drained or lost and has nothing left"},
    {"host token", "NAME", host_token_options, CTL_KEYRING, ctl_host_token,
     "make a token and print the command by which one machine becomes a host"},
    {"image allow", "NAME", NULL, CTL_DATABASE, ctl_image_allow,
     "let every team build templates from an image of the hosts"},
    {"image disallow", "NAME", NULL, CTL_DATABASE, ctl_image_disallow,
     "build no new templates from an image; existing templates stay"},
    {"image list", "", NULL, CTL_DATABASE, ctl_image_list,
     "list the images that teams may build templates from"},
    {"key create", "", key_create_options, CTL_KEYRING, ctl_key_create,
     "make an API key and print it, once"},
    {"key list", "", key_list_options, CTL_DATABASE, ctl_key_list, "list API keys"},
    {"key revoke", "ID", NULL, CTL_DATABASE, ctl_key_revoke, "revoke an API key"},
    {"keyring add", "FILE", NULL, CTL_NOTHING, ctl_keyring_add,
     "append a fresh key that is known and not used yet, for several fronts"},
    {"keyring forget", "ID", NULL, CTL_DATABASE, ctl_keyring_forget,
     "expect a key in no key ring any more, because it is lost or unused"},
    {"keyring new", "FILE", NULL, CTL_NOTHING, ctl_keyring_new,
     "make a key file with one fresh key"},
    {"keyring rotate", "FILE", NULL, CTL_NOTHING, ctl_keyring_rotate,
     "append a fresh key, which new data uses from then on"},
    {"keyring use", "FILE", NULL, CTL_NOTHING, ctl_keyring_use,
     "let new data use the key that was added, when all fronts have it"},
    {"limits", "", limits_options, CTL_SETTINGS, ctl_limits,
     "list everything that tenants share, with its bounds; --markdown: as a page"},
    {"migrate", "", NULL, CTL_CONNECTION, ctl_migrate,
     "bring the database to the schema of this version"},
    {"nginx-config", "", nginx_config_options, CTL_SETTINGS, ctl_nginx_config,
     "print the nginx configuration that fits the settings, write it, or keep its hosts up to "
     "date"},
    {"plan create", "NAME", plan_create_options, CTL_DATABASE, ctl_plan_create,
     "make a plan with the values of another"},
    {"plan list", "", NULL, CTL_DATABASE, ctl_plan_list, "list plans"},
    {"plan remove", "NAME", NULL, CTL_DATABASE, ctl_plan_remove,
     "remove a plan that no team is on"},
    {"plan set", "PLAN FIELD=VALUE...", NULL, CTL_DATABASE, ctl_plan_set,
     "change values of a plan, all together or none"},
    {"profile delete", "NAME", NULL, CTL_DATABASE, ctl_profile_delete,
     "delete an egress profile that no sandbox includes"},
    {"profile list", "", NULL, CTL_DATABASE, ctl_profile_list, "list egress profiles"},
    {"profile set", "NAME [ENTRY...]", profile_set_options, CTL_DATABASE, ctl_profile_set,
     "make an egress profile, or replace its entries; sandboxes that include it follow"},
    {"profile show", "NAME", NULL, CTL_DATABASE, ctl_profile_show,
     "print the entries of an egress profile"},
    {"restore", "DIR", restore_options, CTL_RUNTIMES, ctl_restore,
     "put a backup onto an empty deployment, or prove it on the side (--check)"},
    {"sandbox delete", "ID", NULL, CTL_WORKER, ctl_sandbox_delete, "delete a sandbox of any team"},
    {"sandbox list", "", sandbox_list_options, CTL_DATABASE, ctl_sandbox_list,
     "list sandboxes, newest first"},
    {"sandbox log", "ID", sandbox_log_options, CTL_DATABASE, ctl_sandbox_log,
     "print the lines of all logs and of the audit log about one sandbox, in order"},
    {"sandbox move", "ID HOST", NULL, CTL_WORKER, ctl_sandbox_move,
     "move a stopped sandbox of any team to another host, with its memory"},
    {"sandbox resume", "ID", sandbox_resume_options, CTL_WORKER, ctl_sandbox_resume,
     "resume a stopped sandbox of any team"},
    {"sandbox stop", "ID", sandbox_stop_options, CTL_WORKER, ctl_sandbox_stop,
     "stop a sandbox of any team, with its memory when it can be kept"},
    {"ssh-key add", "FILE", ssh_key_add_options, CTL_KEYRING, ctl_ssh_key_add,
     "let a public key sign a user in over SSH"},
    {"ssh-key list", "", key_list_options, CTL_DATABASE, ctl_ssh_key_list, "list SSH keys"},
    {"ssh-key remove", "ID", NULL, CTL_DATABASE, ctl_ssh_key_remove, "remove an SSH key"},
    {"ssh-record", "", ssh_record_options, CTL_SETTINGS, ctl_ssh_record,
     "print the SSHFP record of the SSH entry point"},
    {"status", "", NULL, CTL_DATABASE, ctl_status,
     "count sandboxes, reservations and work in flight"},
    {"team add-member", "SLUG", team_add_member_options, CTL_DATABASE, ctl_team_add_member,
     "let a user into a team, as a member unless --role says otherwise"},
    {"team create", "SLUG", team_create_options, CTL_DATABASE, ctl_team_create,
     "make a team; its owner is the first member"},
    {"team list", "", NULL, CTL_DATABASE, ctl_team_list, "list teams"},
    {"team list-members", "SLUG", NULL, CTL_DATABASE, ctl_team_list_members,
     "list the members of a team and their roles"},
    {"team remove", "SLUG", NULL, CTL_DATABASE, ctl_team_remove,
     "remove a team that has nothing left"},
    {"team remove-member", "SLUG", team_remove_member_options, CTL_DATABASE, ctl_team_remove_member,
     "take a user out of a team"},
    {"team set-plan", "SLUG PLAN", NULL, CTL_DATABASE, ctl_team_set_plan,
     "move a team to another plan"},
    {"template add", "SLUG", template_add_options, CTL_RUNTIMES, ctl_template_add,
     "build the next version of a template on every active host"},
    {"template delete", "SLUG[:VERSION]", template_list_options, CTL_DATABASE, ctl_template_delete,
     "delete an unused template, or one unused version"},
    {"template list", "", template_list_options, CTL_DATABASE, ctl_template_list,
     "list template versions"},
    {"user create", "NAME", NULL, CTL_DATABASE, ctl_user_create,
     "make a user with a personal team of the same name"},
    {"user disable", "NAME", NULL, CTL_DATABASE, ctl_user_disable,
     "end a user's sign-ins and refuse the password and all keys"},
    {"user enable", "NAME", NULL, CTL_DATABASE, ctl_user_enable, "let a disabled user in again"},
    {"user invite", "NAME", NULL, CTL_KEYRING, ctl_user_invite,
     "print a link with which a user sets the first password for the console"},
    {"user link", "NAME", user_link_options, CTL_DATABASE, ctl_user_link,
     "let a user sign in through the identity provider, by a subject (the claim sub)"},
    {"user list", "", NULL, CTL_DATABASE, ctl_user_list, "list users"},
    {"user remove", "NAME", user_remove_options, CTL_DATABASE, ctl_user_remove,
     "remove a user; the teams keep the user's sandboxes and other objects"},
    {"user reset", "NAME", NULL, CTL_KEYRING, ctl_user_reset,
     "take a user's password and second factor away and print a link as `user invite` does"},
    {"whoami", "", NULL, CTL_DATABASE, ctl_whoami,
     "print the name that the audit log records, and the deployment"},
};

const unsigned ctl_command_count = ARRAY_SIZE(ctl_commands);

/* --- finding --- */

/* How many arguments the words of a row take, when the arguments begin with them; else 0. */
static int match(const char *words, int argc, char **argv)
{
    int used = 0;
    for (const char *at = words; *at; used++) {
        size_t size = strcspn(at, " ");
        if (used == argc || strlen(argv[used]) != size || strncmp(argv[used], at, size) != 0)
            return 0;
        at += size + (at[size] == ' ');
    }
    return used;
}

static void complain_unknown(int argc, char **argv)
{
    const char *names[ARRAY_SIZE(ctl_commands)];
    for (size_t i = 0; i < ARRAY_SIZE(ctl_commands); i++)
        names[i] = ctl_commands[i].words;
    char typed[64];
    snprintf(typed, sizeof typed, "%.30s%s%.30s", argv[0], argc > 1 ? " " : "",
             argc > 1 ? argv[1] : "");
    const char *nearest = str_nearest(typed, names, ARRAY_SIZE(names));
    if (!nearest)
        nearest = str_nearest(argv[0], names, ARRAY_SIZE(names));
    fprintf(stderr, "sandlotctl: unknown command '%s'%s%s%s\n", typed,
            nearest ? "; did you mean '" : "", nearest ? nearest : "", nearest ? "'?" : "");
}

/* "user" alone, or with an unknown word: show its commands. */
static bool complain_group(const char *word)
{
    bool found = false;
    size_t size = strlen(word);
    for (size_t i = 0; i < ARRAY_SIZE(ctl_commands); i++) {
        if (strncmp(ctl_commands[i].words, word, size) != 0 || ctl_commands[i].words[size] != ' ')
            continue;
        fputs(found ? "       " : "usage: ", stderr);
        ctl_command_print_usage(stderr, &ctl_commands[i], false);
        found = true;
    }
    return found;
}

const struct ctl_command *ctl_command_find(int argc, char **argv, int *used)
{
    for (size_t i = 0; argc > 0 && i < ARRAY_SIZE(ctl_commands); i++)
        if ((*used = match(ctl_commands[i].words, argc, argv)))
            return &ctl_commands[i];
    if (argc == 0)
        fputs("sandlotctl: a command is missing; see `sandlotctl --help`\n", stderr);
    else if (!complain_group(argv[0]))
        complain_unknown(argc, argv);
    return NULL;
}

/* --- help --- */

static void print_option(FILE *out, const struct ctl_option *option)
{
    fprintf(out, " %s--%s%s%s%s%s", option->required ? "" : "[", option->name,
            option->metavar ? " " : "", option->metavar ? option->metavar : "",
            option->required ? "" : "]", option->kind == CTL_LIST ? "..." : "");
}

void ctl_command_print_usage(FILE *out, const struct ctl_command *command, bool options_too)
{
    fprintf(out, "sandlotctl %s%s%s", command->words, *command->operands ? " " : "",
            command->operands);
    for (const struct ctl_option *option = command->options; option && option->name; option++)
        if (options_too || option->required)
            print_option(out, option);
    fputc('\n', out);
}

void ctl_command_print_all(FILE *out)
{
    fputs("Commands (`sandlotctl COMMAND --help` shows the options; all take --json):\n", out);
    for (size_t i = 0; i < ARRAY_SIZE(ctl_commands); i++)
        fprintf(out, "  %-16s %s\n", ctl_commands[i].words, ctl_commands[i].summary);
}
