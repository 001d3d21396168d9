/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>

#include "base/mem.h"
#include "base/printable.h"
#include "base/prose.h"
#include "base/str.h"
#include "ctl/ctl.h"
#include "ctl/help.h"

#define OPTIONS static const struct ctl_option
#define END                                     \
    {                                           \
        NULL, CTL_FLAG, false, NULL, 0, 0, NULL \
    }

/* No operand: it may begin with a hyphen. */
OPTIONS team_create_options[] = {
    {"plan", CTL_TEXT, true, "PLAN", 0, 0, "plan of the team"},
    {"owner", CTL_TEXT, true, "USER", 0, 0, "first member, who owns it"},
    END};
OPTIONS team_add_member_options[] = {
    {"user", CTL_TEXT, true, "USER", 0, 0, "the new member"},
    {"role", CTL_CHOICE, false, "owner|member|viewer", 0, 0, "role in the team; default: member"},
    END};
OPTIONS team_rm_member_options[] = {{"user", CTL_TEXT, true, "USER", 0, 0, "the member to remove"},
                                    END};
OPTIONS user_link_options[] = {
    {"subject", CTL_TEXT, true, "SUBJECT", 0, 0, "the user's claim sub at the identity provider"},
    END};
OPTIONS key_create_options[] = {
    {"user", CTL_TEXT, true, "USER", 0, 0, "user of the key"},
    {"scope", CTL_CHOICE, true, "read|write", 0, 0, "rights of the key"},
    {"team", CTL_LIST, false, "SLUG", 0, 0,
     "a team that the key reaches; may be repeated; default: all teams of the user"},
    {"expires", CTL_TEXT, false, "TIME|DURATION", 0, 0,
     "time at which the key expires: 2027-01-31T12:00:00Z, or a span from now such as 90d; "
     "default: never"},
    {"name", CTL_TEXT, false, "NAME", 0, 0, "name of the program that uses the key"},
    END};
OPTIONS key_revoke_options[] = {
    {"with-created", CTL_FLAG, false, NULL, 0, 0, "also revoke all keys that this key created"},
    END};
OPTIONS key_list_options[] = {{"user", CTL_TEXT, false, "USER", 0, 0, "only those of this user"},
                              END};
OPTIONS template_add_options[] = {
    {"image", CTL_TEXT, true, "ALIAS", 0, 0, "image of the hosts to build it from"},
    {"cpu", CTL_NUMBER, false, "N", 1, 1024, "virtual processors; default: the plan's"},
    {"memory-mb", CTL_NUMBER, false, "N", 64, 16777216, "memory in MiB; default: the plan's"},
    {"team", CTL_TEXT, false, "SLUG", 0, 0,
     "team that it belongs to; default: the deployment, for all teams"},
    {"net-admin", CTL_FLAG, false, NULL, 0, 0,
     "let root in its sandboxes change interfaces and routes"},
    {"default", CTL_FLAG, false, NULL, 0, 0,
     "fail if the setting default_template has another name"},
    END};
OPTIONS template_list_options[] = {
    {"team", CTL_TEXT, false, "SLUG", 0, 0, "team of the templates; default: the deployment"}, END};
OPTIONS host_add_options[] = {
    {"url", CTL_TEXT, true, "URL", 0, 0, "address of Incus: unix:///PATH or https://HOST:PORT"},
    {"server-cert", CTL_TEXT, false, "FILE", 0, 0,
     "certificate that the server must present, for https"},
    {"project", CTL_TEXT, true, "PROJECT", 0, 0, "project of Incus for its sandboxes"},
    {"pool", CTL_TEXT, true, "POOL", 0, 0, "storage pool of Incus"},
    {"range", CTL_TEXT, true, "CIDR", 0, 0,
     "network of its sandboxes, /16 to /29, which no other host has"},
    {"network", CTL_TEXT, false, "CIDR", 0, 0,
     "larger network, within which sandboxes move between hosts"},
    {"nic-prefix", CTL_TEXT, true, "PREFIX", 0, 0, "prefix for the names of its network devices"},
    {"vcpus", CTL_NUMBER, true, "N", 1, 1000000, "virtual processors that sandboxes can reserve"},
    {"memory-mb", CTL_NUMBER, true, "N", 64, 2147483648,
     "memory in MiB that sandboxes can reserve"},
    {"memory-overcommit", CTL_NUMBER, false, "PERCENT", 100, 2000,
     "memory that sandboxes can reserve, in per cent of --memory-mb; default: 100"},
    {"disk-overcommit", CTL_NUMBER, false, "N", 0, 10000,
     "GiB of disks that sandboxes can have for each GiB of the storage pool; default: 20; 0: no "
     "limit"},
    {"firewall", CTL_TEXT, false, "URL", 0, 0, "address of its sandlot-firewall"},
    {"relay", CTL_TEXT, false, "URL", 0, 0, "address of its relay, if the host is another machine"},
    {"delete-sandboxes", CTL_FLAG, false, NULL, 0, 0,
     "let the dispatcher delete the sandboxes that a new host has, and the database does not have"},
    END};
OPTIONS profile_set_options[] = {
    {"file", CTL_LIST, false, "FILE", 0, 0,
     "file with an entry a line, - for standard input; may be repeated"},
    {"empty", CTL_FLAG, false, NULL, 0, 0, "create a profile without entries"},
    END};
OPTIONS sandbox_list_options[] = {
    {"team", CTL_TEXT, false, "SLUG", 0, 0, "only those of this team"},
    {"host", CTL_TEXT, false, "NAME", 0, 0, "only those on this host"},
    {"limit", CTL_NUMBER, false, "N", 1, 10000, "at most this many; default: 200"},
    END};
OPTIONS ssh_key_add_options[] = {
    {"user", CTL_TEXT, true, "USER", 0, 0, "user of the key"},
    {"team", CTL_LIST, false, "SLUG", 0, 0,
     "a team that the key reaches; may be repeated; default: all teams of the user"},
    {"name", CTL_TEXT, false, "NAME", 0, 0, "name of the computer with the private key"},
    END};
OPTIONS ssh_record_options[] = {
    {"name", CTL_TEXT, true, "HOST", 0, 0, "host name that people connect to"}, END};
OPTIONS audit_options[] = {
    {"team", CTL_TEXT, false, "SLUG", 0, 0, "only rows of this team"},
    {"action", CTL_TEXT, false, "ACTION", 0, 0, "only this action, such as sandbox.create"},
    {"resource", CTL_TEXT, false, "RESOURCE", 0, 0, "only about this object"},
    {"actor", CTL_TEXT, false, "ACTOR", 0, 0, "only of this user, key or operator"},
    {"since", CTL_TEXT, false, "TIME|DURATION", 0, 0,
     "from this time on: 2026-11-22T10:00:00Z, or 10m ago"},
    {"until", CTL_TEXT, false, "TIME|DURATION", 0, 0, "up to this time, or this span ago"},
    {"limit", CTL_NUMBER, false, "N", 1, 1000000000, "at most this many"},
    END};
OPTIONS backup_options[] = {
    {"passphrase-file", CTL_TEXT, false, "FILE", 0, 0,
     "file with the passphrase that encrypts the key ring"},
    {"recipient", CTL_TEXT, false, "KEY", 0, 0,
     "public key of `backup recipient` that encrypts the key ring"},
    {"without-keys", CTL_FLAG, false, NULL, 0, 0, "leave out the key ring"},
    {"base", CTL_TEXT, false, "DIR", 0, 0, "previous backup; equal files become hard links"},
    {"sandbox", CTL_LIST, false, "ID", 0, 0, "only this paused sandbox; may be repeated"},
    {"no-sandboxes", CTL_FLAG, false, NULL, 0, 0, "leave out all sandboxes"},
    END};
OPTIONS restore_options[] = {
    {"check", CTL_FLAG, false, NULL, 0, 0,
     "check the backup in a temporary database, and change nothing"},
    {"passphrase-file", CTL_TEXT, false, "FILE", 0, 0,
     "file with the passphrase that encrypts the key ring"},
    {"identity-file", CTL_TEXT, false, "FILE", 0, 0,
     "file with the private key that decrypts the key ring"},
    {"without-keys", CTL_FLAG, false, NULL, 0, 0, "the key ring is not in the backup"},
    END};
OPTIONS plan_create_options[] = {
    {"from", CTL_TEXT, true, "PLAN", 0, 0, "plan with the initial values"}, END};
OPTIONS user_remove_options[] = {
    {"heir", CTL_TEXT, false, "USER", 0, 0, "new owner of teams without another owner"}, END};
OPTIONS sandbox_pause_options[] = {
    {"without-memory", CTL_FLAG, false, NULL, 0, 0, "keep the disk only"}, END};
OPTIONS sandbox_resume_options[] = {
    {"timeout", CTL_DURATION, false, "DURATION", 1, 31536000,
     "time until its deadline, such as 1h30m"},
    {"without-memory", CTL_FLAG, false, NULL, 0, 0, "start from the disk only"},
    END};
OPTIONS sandbox_log_options[] = {
    {"dir", CTL_TEXT, false, "DIR", 0, 0, "folder of logs, instead of this machine's"},
    {"file", CTL_LIST, false, "FILE", 0, 0,
     "file of a log instead, - for standard input; may be repeated"},
    END};
OPTIONS audit_verify_options[] = {
    {"anchor", CTL_TEXT, false, "LINK:HASH", 0, 0,
     "link and hash of an earlier time, which the log must still have"},
    END};
OPTIONS limits_options[] = {{"markdown", CTL_FLAG, false, NULL, 0, 0, "print a page in Markdown"},
                            END};
OPTIONS nginx_config_options[] = {
    {"output", CTL_TEXT, false, "DIR", 0, 0, "folder to write the files to; default: print them"},
    {"watch", CTL_FLAG, false, NULL, 0, 0,
     "keep running, and keep the hosts in the folder up to date"},
    {"pid-file", CTL_TEXT, false, "FILE", 0, 0,
     "pid file of the nginx to reload; default: /run/nginx.pid"},
    END};
OPTIONS nginx_options[] = {{"pid-file", CTL_TEXT, false, "FILE", 0, 0,
                            "pid file of the nginx to reload; default: /run/nginx.pid"},
                           END};
OPTIONS host_drain_options[] = {
    {"stay", CTL_FLAG, false, NULL, 0, 0, "do not move sandboxes"},
    {"move-running", CTL_FLAG, false, NULL, 0, 0, "also move running sandboxes, with their memory"},
    {"wait", CTL_FLAG, false, NULL, 0, 0, "wait until all sandboxes that can move have moved"},
    END};
OPTIONS host_lost_options[] = {
    {"yes", CTL_FLAG, false, NULL, 0, 0,
     "give up the host; without this option the command only prints the losses"},
    {"powered-off", CTL_FLAG, false, NULL, 0, 0,
     "the machine is certainly off: do not wait 15 minutes"},
    END};
OPTIONS host_token_options[] = {
    {"range", CTL_TEXT, true, "CIDR", 0, 0,
     "network of its sandboxes, /16 to /29, which no other host has"},
    {"network", CTL_TEXT, false, "CIDR", 0, 0,
     "larger network, within which sandboxes move between hosts"},
    {"nic-prefix", CTL_TEXT, false, "PREFIX", 0, 0,
     "prefix for the names of its network devices; default: sl"},
    {"project", CTL_TEXT, false, "PROJECT", 0, 0, "project of Incus; default: sandlot"},
    {"pool", CTL_TEXT, false, "POOL", 0, 0, "storage pool of Incus; default: sandlot"},
    {"vcpus", CTL_NUMBER, false, "N", 1, 1000000, "virtual processors that sandboxes can reserve"},
    {"memory-mb", CTL_NUMBER, false, "N", 64, 2147483647,
     "memory in MiB that sandboxes can reserve"},
    {"memory-overcommit", CTL_NUMBER, false, "PERCENT", 100, 2000,
     "memory that sandboxes can reserve, in per cent of --memory-mb; default: 100"},
    {"disk-overcommit", CTL_NUMBER, false, "N", 0, 10000,
     "GiB of disks that sandboxes can have for each GiB of the storage pool; default: 20; 0: no "
     "limit"},
    {"front", CTL_TEXT, false, "ADDRESS", 0, 0, "address of this front node; default: base_url"},
    {"valid-for", CTL_DURATION, false, "DURATION", 60, 86400,
     "time to use the token, such as 1h30m; default: 1h"},
    END};
OPTIONS host_certificate_options[] = {
    {"range", CTL_TEXT, true, "CIDR", 0, 0, "network that the relay lets front nodes reach"},
    {"output", CTL_TEXT, true, "DIR", 0, 0, "folder to write the files to"},
    {"dir", CTL_TEXT, false, "DIR", 0, 0,
     "folder of the files on that machine; default: /etc/sandlot/relay"},
    {"port", CTL_NUMBER, false, "N", 1, 65535, "port of the relay; default: 8446"},
    END};

/* Details are NULL where a row has none. */
#define TEXTS(summary, details, ...) summary, details
#define COMMAND(words, operands, options, need, handler, ...) \
    {words, operands, options, need, handler, TEXTS(__VA_ARGS__, NULL, NULL)},
#define SUBJECT(title) {"", "", NULL, CTL_NOTHING, NULL, title, NULL},
const struct ctl_command ctl_commands[] = {
#include "ctl/commands.def"
};
#undef COMMAND
#undef SUBJECT

const unsigned ctl_command_count = ARRAY_SIZE(ctl_commands);

/* --- finding --- */

/* How many arguments the words of a row take, when the arguments begin with them; else 0. */
static int match(const char *words, int argc, char **argv)
{
    int used = 0;
    for (const char *at = words; *at; used++) {
        size_t size = strcspn(at, " ");
        if (used == argc || !str_is_command_word(at, size, argv[used]))
            return 0;
        at += size + (at[size] == ' ');
    }
    return used;
}

static void complain_unknown(int argc, char **argv)
{
    const char *names[ARRAY_SIZE(ctl_commands)];
    size_t count = 0;
    for (size_t i = 0; i < ARRAY_SIZE(ctl_commands); i++)
        if (ctl_help_shows(&ctl_commands[i]))
            names[count++] = ctl_commands[i].words;
    autofree char *two =
        xasprintf("%.30s%s%.30s", argv[0], argc > 1 ? " " : "", argc > 1 ? argv[1] : "");
    autofree char *typed = printable(two, "");
    const char *nearest = str_nearest(typed, names, count);
    if (!nearest)
        nearest = str_nearest(argv[0], names, count);
    fprintf(stderr, "sandlotctl: unknown command '%s'%s%s%s\n", typed,
            nearest ? "; did you mean '" : "", nearest ? nearest : "", nearest ? "'?" : "");
}

const struct ctl_command *ctl_command_match(int argc, char **argv, int *used)
{
    const struct ctl_command *found = NULL;
    *used = 0;
    for (size_t i = 0; i < ARRAY_SIZE(ctl_commands); i++) {
        int words = match(ctl_commands[i].words, argc, argv);
        if (words > *used) {
            *used = words;
            found = &ctl_commands[i];
        }
    }
    return found;
}

const struct ctl_command *ctl_command_find(int argc, char **argv, int *used)
{
    const struct ctl_command *found = ctl_command_match(argc, argv, used);
    if (found)
        return found;
    if (argc == 0) {
        fputs("sandlotctl: a command is missing; see `sandlotctl --help`\n", stderr);
    } else if (argc > 1) {
        complain_unknown(argc, argv);
        ctl_help_print_group(stderr, argv[0], prose_width());
    } else if (ctl_help_has_group(argv[0])) {
        fprintf(stderr, "sandlotctl: '%s' needs another word\n", argv[0]);
        ctl_help_print_group(stderr, argv[0], prose_width());
    } else {
        complain_unknown(argc, argv);
    }
    return NULL;
}
