/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The certificates by which fronts and the relays of other machines know each other. */
#include <errno.h>
#include <fcntl.h>
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
#include "host/host_check.h"
#include "http/link.h"

#define AUTHORITY_KEY  "ca.key"
#define AUTHORITY_DAYS 3650
#define LEAF_DAYS      90
#define RENEW_DAYS     30
#define PEM_MAX        65536
#define RELAY_PORT     8446
#define RELAY_DIR      "/etc/sandlot/relay"
#define FRONT_NAME     "front.sandlot"
/* In the folder of a host. */
#define HOST_CERTIFICATE "host.pem"
#define HOST_KEY         "host.key"

/* --- files --- */

static int read_text(const char *path, char **text, struct error **err)
{
    autofree char *read = xcalloc(1, PEM_MAX);
    autofclose FILE *file = fopen(path, "re");
    if (!file)
        return error_set_errno(err, ERR_CONFIG, errno, "cannot read %s", path);
    size_t size = fread(read, 1, PEM_MAX - 1, file);
    *text = xstrndup(read, size);
    mem_wipe(read, size);
    return 0;
}

static int read_file(const char *dir, const char *name, char **text, struct error **err)
{
    autofree char *path = xasprintf("%s/%s", dir, name);
    return read_text(path, text, err);
}

/* Beside its place and then into it. group -1: its maker's. */
static int write_file(const char *dir, const char *name, const char *text, mode_t mode, gid_t group,
                      struct error **err)
{
    autofree char *path = xasprintf("%s/%s", dir, name);
    autofree char *draft = xasprintf("%s/.%s.new", dir, name);
    unlink(draft);
    autoclose int fd = open(draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    size_t size = strlen(text);
    if (fd < 0 || write(fd, text, size) != (ssize_t)size || fchown(fd, (uid_t)-1, group) < 0 ||
        fchmod(fd, mode) < 0 || fsync(fd) < 0 || rename(draft, path) < 0) {
        error_set_errno(err, ERR_CONFIG, errno, "cannot write %s", path);
        unlink(draft);
        return -1;
    }
    return 0;
}

static int make_dir(const char *dir, struct error **err)
{
    if (mkdir(dir, 0755) < 0 && errno != EEXIST)
        return error_set_errno(err, ERR_CONFIG, errno, "cannot make %s", dir);
    return 0;
}

static bool is_there(const char *dir, const char *name)
{
    autofree char *path = xasprintf("%s/%s", dir, name);
    return access(path, F_OK) == 0;
}

/* Whether dir has a certificate of our authority for this name that needs no renewal yet. */
static bool is_fresh(const char *authority_dir, const char *dir, const char *file, const char *name)
{
    autofree char *authority = NULL, *certificate = NULL;
    error_auto unreadable = NULL;
    return read_file(authority_dir, LINK_AUTHORITY_FILE, &authority, &unreadable) == 0 &&
           read_file(dir, file, &certificate, &unreadable) == 0 &&
           authority_signed(authority, certificate, name, RENEW_DAYS);
}

static json_t *expiry_json(const char *dir, const char *file)
{
    autofree char *path = xasprintf("%s/%s", dir, file);
    int64_t expires_at_ms = 0;
    error_auto unreadable = NULL;
    certificate_expiry(path, &expires_at_ms, &unreadable);
    return ctl_json_time(expires_at_ms);
}

/* --- the authority --- */

static int relay_dir(struct ctl *ctl, const char **dir, struct error **err)
{
    *dir = ctl->settings->relay_dir;
    if (!**dir)
        return error_set(err, ERR_CONFIG,
                         "relay_dir is not set: write \"relay_dir = " RELAY_DIR
                         "\" into the settings first");
    return make_dir(*dir, err);
}

/* The key first: a certificate without it would look like an authority that is whole. */
static int make_authority(const char *dir, struct error **err)
{
    certificate_pair_auto pair = {0};
    if (authority_new("sandlot relays", AUTHORITY_DAYS, &pair, err) < 0 ||
        write_file(dir, AUTHORITY_KEY, pair.key, 0600, (gid_t)-1, err) < 0)
        return -1;
    return write_file(dir, LINK_AUTHORITY_FILE, pair.certificate, 0644, (gid_t)-1, err);
}

static int read_authority(const char *dir, struct certificate_pair *authority, struct error **err)
{
    if (read_file(dir, LINK_AUTHORITY_FILE, &authority->certificate, err) < 0 ||
        read_file(dir, AUTHORITY_KEY, &authority->key, err) < 0)
        return error_context(err, "there is no authority here (`sandlotctl host authority`)");
    return 0;
}

/* The group that reads the key ring: the gate calls agents through relays too, and is in no other.
 */
static gid_t callers_group(const struct settings *settings)
{
    struct stat info;
    return stat(settings->key_file, &info) == 0 ? info.st_gid : (gid_t)-1;
}

static int make_front(struct ctl *ctl, const char *dir, struct error **err)
{
    certificate_pair_auto authority = {0}, pair = {0};
    if (read_authority(dir, &authority, err) < 0 ||
        authority_sign(&authority, CERTIFICATE_OF_CALLER, FRONT_NAME, LEAF_DAYS, &pair, err) < 0 ||
        write_file(dir, LINK_CALLER_KEY, pair.key, 0640, callers_group(ctl->settings), err) < 0)
        return -1;
    return write_file(dir, LINK_CALLER_FILE, pair.certificate, 0644, (gid_t)-1, err);
}

/* --- the client certificate for Incus --- */

/* The group of the workers that call Incus. */
static gid_t runtime_group(const struct settings *settings)
{
    const struct group *group = getgrnam("sandlot-runtime");
    return group ? group->gr_gid : callers_group(settings);
}

/* Write a file by its path, as write_file(). */
static int write_path(const char *path, const char *text, mode_t mode, gid_t gid,
                      struct error **err)
{
    autofree char *dir = xstrdup(path);
    char *slash = strrchr(dir, '/');
    if (!slash)
        return error_set(err, ERR_CONFIG, "%s is no absolute path", path);
    *slash = '\0';
    return write_file(dir, slash + 1, text, mode, gid, err);
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
    bool is_new = !is_there(dir, LINK_AUTHORITY_FILE);
    if (is_new && make_authority(dir, err) < 0)
        return -1;
    bool renews = is_new || !is_fresh(dir, dir, LINK_CALLER_FILE, FRONT_NAME);
    bool has_client;
    if ((renews && make_front(ctl, dir, err) < 0) ||
        make_incus_client(ctl->settings, &has_client, err) < 0)
        return -1;
    ctl_print(ctl,
              json_pack("{s:s, s:b, s:b, s:b, s:o}", "directory", dir, "authority_made", is_new,
                        "front_renewed", renews, "incus_client_made", has_client, "expires_at",
                        expiry_json(dir, LINK_CALLER_FILE)),
              "%s holds the authority%s and this front's certificate%s. Keep " AUTHORITY_KEY
              " on this machine alone.",
              dir, is_new ? ", which is new," : "",
              renews ? ", which is new: restart the workers and reload nginx" : "");
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
        return error_set_field(err, ERR_INVALID_REQUEST, "--range",
                               "The addresses that a relay lets through are an IPv4 network from "
                               "/8 to /29, such as 10.90.0.0/16.");
    return 0;
}

/* The key before the certificate, so that a certificate that is fresh has its key. */
static int make_host(const char *from, const char *subject, const char *dir, struct error **err)
{
    certificate_pair_auto authority = {0}, pair = {0};
    if (read_authority(from, &authority, err) < 0 ||
        authority_sign(&authority, CERTIFICATE_OF_CALLED, subject, LEAF_DAYS, &pair, err) < 0 ||
        make_dir(dir, err) < 0 ||
        write_file(dir, LINK_AUTHORITY_FILE, authority.certificate, 0644, (gid_t)-1, err) < 0 ||
        write_file(dir, HOST_KEY, pair.key, 0600, (gid_t)-1, err) < 0)
        return -1;
    return write_file(dir, HOST_CERTIFICATE, pair.certificate, 0644, (gid_t)-1, err);
}

int host_files_new(struct ctl *ctl, const char *name, json_t **files, struct error **err)
{
    const char *from, *incus = ctl->settings->incus_client_cert_file;
    autofree char *subject = xasprintf("%s." LINK_DOMAIN, name), *client = NULL;
    certificate_pair_auto authority = {0}, pair = {0};
    if (!*incus)
        return error_set(err, ERR_CONFIG,
                         "incus_client_cert_file and incus_client_key_file are not set: they name "
                         "the certificate that fronts show to Incus of other machines "
                         "(doc/howto/second-host.md)");
    if (relay_dir(ctl, &from, err) < 0 || read_authority(from, &authority, err) < 0 ||
        read_text(incus, &client, err) < 0 ||
        authority_sign(&authority, CERTIFICATE_OF_CALLED, subject, LEAF_DAYS, &pair, err) < 0)
        return -1;
    *files = json_pack("{s:s, s:s, s:s, s:s}", LINK_AUTHORITY_FILE, authority.certificate,
                       HOST_CERTIFICATE, pair.certificate, HOST_KEY, pair.key, "incus-client.pem",
                       client);
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
    bool renews = !is_fresh(from, dir, HOST_CERTIFICATE, subject);
    if ((renews && make_host(from, subject, dir, err) < 0) ||
        nginx_config_render_relay(ctl->settings, ctl->settings->nginx_template_dir, &relay, dir,
                                  err) < 0)
        return -1;
    ctl_print(ctl,
              json_pack("{s:s, s:s, s:b, s:o}", "host", name, "directory", dir, "renewed", renews,
                        "expires_at", expiry_json(dir, HOST_CERTIFICATE)),
              "%s holds the files for the relay of %s%s; copy them to %s on that machine.", dir,
              name, renews ? ", with a new certificate" : "", relay.dir);
    return 0;
}
