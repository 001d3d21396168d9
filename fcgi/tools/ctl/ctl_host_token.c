/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "ctl/certificate.h"
#include "ctl/host_files.h"
#include "ctl/output.h"
#include "joining/join.h"

#define DISK_OVERCOMMIT   20
#define MEMORY_OVERCOMMIT 100
/* It reads the token from standard input: `ps` shows the arguments of a program to all users. */
#define COMMAND "sandlot-host-join -"

static void add_text(json_t *options, const char *name, const char *value, const char *usual)
{
    json_object_set_new(options, name, json_string(value ? value : usual));
}

static void add_number(json_t *options, const char *name, uint64_t value)
{
    json_object_set_new(options, name, json_integer((json_int_t)value));
}

/* 0 where the machine itself is to say it. The last two are settings of this front node that the
 * host's firewall needs too. */
static json_t *options_of(const struct settings *settings, const struct ctl_arguments *arguments)
{
    json_t *options = json_object();
    add_text(options, "range", ctl_text(arguments, "range"), "");
    add_text(options, "network", ctl_text(arguments, "network"), "");
    add_text(options, "nic_prefix", ctl_text(arguments, "nic-prefix"), "sl");
    add_text(options, "project", ctl_text(arguments, "project"), "sandlot");
    add_text(options, "pool", ctl_text(arguments, "pool"), "sandlot");
    add_number(options, "vcpus", ctl_number(arguments, "vcpus", 0));
    add_number(options, "memory_mb", ctl_number(arguments, "memory-mb", 0));
    add_number(options, "memory_overcommit",
               ctl_number(arguments, "memory-overcommit", MEMORY_OVERCOMMIT));
    add_number(options, "disk_overcommit",
               ctl_number(arguments, "disk-overcommit", DISK_OVERCOMMIT));
    add_text(options, "protected_networks_open", settings->protected_networks_open, "");
    add_text(options, "dns_upstreams", settings->dns_upstreams, "");
    return options;
}

/* All that the machine needs to find us, and to know that it is us, in one word. */
static char *token_of(const struct ctl *ctl, const char *pin, const char *front, const char *secret)
{
    autowipe char *text =
        xasprintf("{\"url\":\"%s\",\"connect\":\"%s\",\"pin\":\"%s\",\"token\":\"%s\"}",
                  ctl->settings->base_url, front ? front : "", pin, secret);
    size_t size = strlen(text);
    char *token = xcalloc(1, BASE64_PADDED_SIZE(size));
    base64_encode(text, size, token);
    return token;
}

static int check_front(const char *front, struct error **err)
{
    if (!front || strspn(front, "abcdefghijklmnopqrstuvwxyz0123456789.-:[]") == strlen(front))
        return 0;
    return error_set_field(
        err, ERR_INVALID_REQUEST, "--front",
        "The address of this front node must be an address or a name, with :PORT if "
        "the port is not 443.");
}

int ctl_host_token(struct ctl *ctl, const struct ctl_arguments *arguments, struct error **err)
{
    const char *name = arguments->operands[0], *front = ctl_text(arguments, "front");
    char pin[CERTIFICATE_PIN_SIZE], secret[SECRET_TEXT_SIZE], at[CLOCK_ISO8601_SIZE];
    json_auto_t *options = options_of(ctl->settings, arguments), *files = NULL;
    unsigned seconds = (unsigned)ctl_seconds(arguments, "valid-for", JOIN_TTL_S);
    if (check_front(front, err) < 0 ||
        certificate_pin(ctl->settings->tls_certificate_file, pin, err) < 0 ||
        host_files_new(ctl, name, &files, err) < 0 ||
        join_new(ctl->db, ctl->ring, name, options, files, seconds, secret, err) < 0)
        return -1;
    autowipe char *token = token_of(ctl, pin, front, secret);
    mem_wipe(secret, sizeof secret);
    clock_format_iso8601(clock_in_s(seconds), at);
    ctl_print(ctl,
              json_pack("{s:s, s:s, s:s, s:o}", "name", name, "token", token, "command", COMMAND,
                        "expires_at", json_string(at)),
              "Run this as root on the new machine, which needs the package sandlot-runtime, "
              "before %s:\n\n    " COMMAND "\n\nPaste this token there, and press Enter:\n\n"
              "    %s\n\nThe token is for one machine, which becomes host %s. sandlotctl shows it "
              "only once.",
              at, token, name);
    return 0;
}
