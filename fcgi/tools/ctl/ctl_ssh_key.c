/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Public keys that sign in over SSH, and the record of the entry point's own key. */
#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "account/api_key.h"
#include "base/mem.h"
#include "base/str.h"
#include "ctl/output.h"

/* The line of a .pub file; "-": of standard input. */
static int read_line(const char *path, char line[2 * SSH_PUBLIC_KEY_MAX], struct error **err)
{
    autofclose FILE *file =
        str_equal(path, "-") ? fdopen(dup(STDIN_FILENO), "r") : fopen(path, "re");
    if (!file)
        return error_set_errno(err, ERR_CONFIG, errno, "cannot read %s", path);
    if (!fgets(line, 2 * SSH_PUBLIC_KEY_MAX, file))
        return error_set(err, ERR_CONFIG, "%s is empty", path);
    return 0;
}

static int add(struct ctl *ctl, const struct ctl_arguments *arguments,
               const struct ssh_public_key *public, struct error **err)
{
    struct user user;
    struct api_key key;
    const char *name = ctl_text(arguments, "name");
    struct api_key_request request = {
        .name = name ? name : public->comment,
        .can_write = true,
        .ssh = public,
    };
    request.team_slugs = ctl_list(arguments, "team", &request.team_count);
    if (user_get_by_name(ctl->db, ctl_text(arguments, "user"), &user, err) < 0)
        return -1;
    request.user_id = user.id;
    if (ssh_key_create(ctl->db, ctl->ring, &request, &key, err) < 0)
        return -1;
    memcpy(key.user_name, user.name, sizeof key.user_name);
    ctl_print(ctl, ctl_key_json(&key, SSH_KEYS),
              "Added the SSH key %s (SHA256:%s), with which user %s can sign in.", key.id,
              key.ssh_fingerprint, user.name);
    api_key_deinit(&key);
    return 0;
}

int ctl_ssh_key_add(struct ctl *ctl, const struct ctl_arguments *arguments, struct error **err)
{
    char line[2 * SSH_PUBLIC_KEY_MAX];
    struct ssh_public_key public;
    if (read_line(arguments->operands[0], line, err) < 0 ||
        ssh_public_key_parse(line, NULL, &public, err) < 0)
        return -1;
    int result = add(ctl, arguments, &public, err);
    ssh_public_key_deinit(&public);
    return result;
}

int ctl_ssh_key_remove(struct ctl *ctl, const struct ctl_arguments *arguments, struct error **err)
{
    const char *id = arguments->operands[0];
    if (!id_is_valid("ssk_", id))
        return error_set(err, ERR_NOT_FOUND, "%s is not the id of an SSH key", id);
    if (api_key_revoke(ctl->db, NULL, id, ctl_flag(arguments, "with-created"), err) < 0)
        return -1;
    ctl_print(ctl, json_pack("{s:s, s:b}", "id", id, "revoked", true), "SSH key %s is removed.",
              id);
    return 0;
}

/* --- the entry point's own key --- */

/* Numbers of RFC 4255, 6594 and 7479. */
static int algorithm_of(const char *text)
{
    return str_starts_with(text, "ssh-rsa ")       ? 1
           : str_starts_with(text, "ecdsa-sha2-")  ? 3
           : str_starts_with(text, "ssh-ed25519 ") ? 4
                                                   : 0;
}

/* The record's SHA-256 is the fingerprint's, in hexadecimal. */
static int fingerprint_hex(const struct ssh_public_key *key, char hex[65], struct error **err)
{
    unsigned char hash[32];
    size_t size;
    if (sodium_base642bin(hash, sizeof hash, key->fingerprint, strlen(key->fingerprint), NULL,
                          &size, NULL, sodium_base64_VARIANT_ORIGINAL_NO_PADDING) != 0)
        return error_set(err, ERR_INTERNAL, "a fingerprint is not base64");
    sodium_bin2hex(hex, 65, hash, sizeof hash);
    return 0;
}

int ctl_ssh_record(struct ctl *ctl, const struct ctl_arguments *arguments, struct error **err)
{
    char line[2 * SSH_PUBLIC_KEY_MAX], hex[65];
    struct ssh_public_key key;
    const char *name = ctl_text(arguments, "name");
    autofree char *path = xasprintf("%s.pub", ctl->settings->ssh_host_key_file);
    if (read_line(path, line, err) < 0 || ssh_public_key_parse(line, NULL, &key, err) < 0)
        return -1;
    int algorithm = algorithm_of(key.text);
    int result = fingerprint_hex(&key, hex, err);
    if (result == 0)
        ctl_print(ctl,
                  json_pack("{s:s, s:i, s:s, s:s}", "name", name, "algorithm", algorithm, "sha256",
                            hex, "public_key", key.text),
                  "%s. IN SSHFP %d 2 %s", name, algorithm, hex);
    ssh_public_key_deinit(&key);
    return result;
}
