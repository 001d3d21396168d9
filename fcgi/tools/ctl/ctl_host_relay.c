/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The certificates by which fronts and the relays of other machines know each other. */
#include <grp.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "account/account.h"
#include "base/mem.h"
#include "crypto/authority.h"
#include "ctl/certificate.h"
#include "ctl/host_files.h"
#include "ctl/nginx_config.h"
#include "ctl/output.h"
#include "ctl/relay_files.h"
#include "host/host_check.h"
#include "http/link.h"

#define AUTHORITY_DAYS 3650
#define RELAY_PORT     8446
#define FRONT_NAME     "front.sandlot"

static json_t *expiry_json(const char *dir, const char *file)
{
    autofree char *path = xasprintf("%s/%s", dir, file);
    int64_t expires_at_ms = 0;
    error_auto unreadable = NULL;
    certificate_expiry(path, &expires_at_ms, &unreadable);
    return time_to_json(expires_at_ms);
}

/* --- the authority --- */

static int relay_dir(struct ctl *ctl, const char **dir, struct error **err)
{
    *dir = ctl->settings->relay_dir;
    if (!**dir)
        return error_set(err, ERR_CONFIG,
                         "relay_dir is not set: first write \"relay_dir = " RELAY_DIR
                         "\" into the settings");
    return relay_make_dir(*dir, err);
}

/* The key first: a certificate without it would look like an authority that is whole. */
static int make_authority(const char *dir, struct error **err)
{
    certificate_pair_auto pair = {0};
    if (authority_new("sandlot relays", AUTHORITY_DAYS, &pair, err) < 0 ||
        relay_write(dir, RELAY_AUTHORITY_KEY, pair.key, 0600, (gid_t)-1, err) < 0)
        return -1;
    return relay_write(dir, LINK_AUTHORITY_FILE, pair.certificate, 0644, (gid_t)-1, err);
}

/* The group that reads the key ring: the gate calls agents through relays too, and is in no other.
 */
static gid_t callers_group(const struct settings *settings)
{
    struct stat info;
    return stat(settings->key_file, &info) == 0 ? info.st_gid : (gid_t)-1;
}

int relay_renew_front(const struct settings *settings, bool *renewed, struct error **err)
{
    certificate_pair_auto authority = {0}, pair = {0};
    const char *dir = settings->relay_dir;
    *renewed = !relay_is_fresh(dir, dir, LINK_CALLER_FILE, FRONT_NAME);
    if (!*renewed)
        return 0;
    if (relay_read_authority(dir, &authority, err) < 0 ||
        authority_sign(&authority, CERTIFICATE_OF_CALLER, FRONT_NAME, RELAY_LEAF_DAYS, &pair, err) <
            0)
        return -1;
    return relay_write_pair(dir, LINK_CALLER_FILE, &pair, 0640, callers_group(settings), err);
}

/* --- the client certificate for Incus --- */

/* The group of the workers that call Incus. */
static gid_t runtime_group(const struct settings *settings)
{
    const struct group *group = getgrnam("sandlot-runtime");
    return group ? group->gr_gid : callers_group(settings);
}

/* Write a file by its path, as relay_write(). */
static int write_path(const char *path, const char *text, mode_t mode, gid_t gid,
                      struct error **err)
{
    autofree char *dir = xstrdup(path);
    char *slash = strrchr(dir, '/');
    if (!slash)
        return error_set(err, ERR_CONFIG, "%s is not an absolute path", path);
    *slash = '\0';
    return relay_write(dir, slash + 1, text, mode, gid, err);
}

/* Make the certificate that the settings name, unless one of the files exists. */
static int make_incus_client(const struct settings *settings, bool *made, struct error **err)
{
    const char *file = settings->incus_client_cert_file, *key = settings->incus_client_key_file;
    certificate_pair_auto pair = {0};
    *made = *file && *key && access(file, F_OK) < 0 && access(key, F_OK) < 0;
    if (!*made)
        return 0;
    if (authority_new("sandlot", AUTHORITY_DAYS, &pair, err) < 0 ||
        write_path(key, pair.key, 0640, runtime_group(settings), err) < 0)
        return -1;
    return write_path(file, pair.certificate, 0644, (gid_t)-1, err);
}

int ctl_host_authority(struct ctl *ctl, const struct ctl_arguments *arguments, struct error **err)
{
    const char *dir;
    (void)arguments;
    if (relay_dir(ctl, &dir, err) < 0)
        return -1;
    bool is_new = !relay_has(dir, LINK_AUTHORITY_FILE);
    if (is_new && make_authority(dir, err) < 0)
        return -1;
    bool renews, has_client;
    if (relay_renew_front(ctl->settings, &renews, err) < 0 ||
        make_incus_client(ctl->settings, &has_client, err) < 0)
        return -1;
    ctl_print(
        ctl,
        json_pack("{s:s, s:b, s:b, s:b, s:o}", "directory", dir, "authority_made", is_new,
                  "front_renewed", renews, "incus_client_made", has_client, "expires_at",
                  expiry_json(dir, LINK_CALLER_FILE)),
        "%s has the authority%s and this front node's certificate%s. Keep " RELAY_AUTHORITY_KEY
        " on this machine only.",
        dir, is_new ? ", which is new," : "", renews ? ", which is new: reload nginx" : "");
    return 0;
}

/* --- hosts --- */

static int check_host(const struct ctl_arguments *arguments, struct error **err)
{
    struct address_range range;
    if (!slug_is_valid(arguments->operands[0]))
        return error_set_field(err, ERR_INVALID_REQUEST, "NAME",
                               "A host's name is 1 to 63 lower-case letters, digits and hyphens, "
                               "with no hyphen at either end.");
    if (address_network_parse(ctl_text(arguments, "range"), &range) < 0)
        return error_set_field(
            err, ERR_INVALID_REQUEST, "--range",
            "The network of a relay must be an IPv4 network from /8 to /29, such as 10.90.0.0/16.");
    return 0;
}

static int make_host(const char *from, const char *name, const char *dir, struct error **err)
{
    certificate_pair_auto authority = {0}, pair = {0};
    if (relay_sign_host(from, name, &authority, &pair, err) < 0 || relay_make_dir(dir, err) < 0 ||
        relay_write(dir, LINK_AUTHORITY_FILE, authority.certificate, 0644, (gid_t)-1, err) < 0)
        return -1;
    return relay_write_pair(dir, LINK_HOST_FILE, &pair, 0600, (gid_t)-1, err);
}

int host_files_new(struct ctl *ctl, const char *name, json_t **files, struct error **err)
{
    const char *from, *incus = ctl->settings->incus_client_cert_file;
    autofree char *client = NULL;
    certificate_pair_auto authority = {0}, pair = {0};
    if (!*incus)
        return error_set(
            err, ERR_CONFIG,
            "set incus_client_cert_file and incus_client_key_file, the certificate "
            "that front nodes show to Incus of other machines (doc/howto/second-host.md)");
    if (relay_dir(ctl, &from, err) < 0 || relay_read_path(incus, &client, err) < 0 ||
        relay_sign_host(from, name, &authority, &pair, err) < 0)
        return -1;
    autowipe char *text = relay_pair_text(&pair);
    *files = json_pack("{s:s, s:s, s:s}", LINK_AUTHORITY_FILE, authority.certificate,
                       LINK_HOST_FILE, text, "incus-client.pem", client);
    return 0;
}

int ctl_host_certificate(struct ctl *ctl, const struct ctl_arguments *arguments, struct error **err)
{
    const char *from, *name = arguments->operands[0], *dir = ctl_text(arguments, "output");
    const char *there = ctl_text(arguments, "dir");
    autofree char *subject = xasprintf("%s." LINK_DOMAIN, name);
    struct nginx_relay relay = {.host_name = name,
                                .range = ctl_text(arguments, "range"),
                                .dir = there ? there : RELAY_DIR,
                                .port = (unsigned)ctl_number(arguments, "port", RELAY_PORT)};
    if (check_host(arguments, err) < 0 || relay_dir(ctl, &from, err) < 0)
        return -1;
    bool renews = !relay_is_fresh(from, dir, LINK_HOST_FILE, subject);
    if ((renews && make_host(from, name, dir, err) < 0) ||
        nginx_config_render_relay(ctl->settings, ctl->settings->nginx_template_dir, &relay, dir,
                                  err) < 0)
        return -1;
    ctl_print(ctl,
              json_pack("{s:s, s:s, s:b, s:o}", "host", name, "directory", dir, "renewed", renews,
                        "expires_at", expiry_json(dir, LINK_HOST_FILE)),
              "%s has the files for the relay of %s%s; copy them to %s on that machine.", dir, name,
              renews ? ", with a new certificate" : "", relay.dir);
    return 0;
}
