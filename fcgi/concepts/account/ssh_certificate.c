/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "account/ssh_certificate.h"

#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "account/ssh_key_bytes.h"
#include "base/big_endian.h"
#include "base/mem.h"
#include "base/str.h"
#include "crypto/mac.h"

#define AUTHORITY_TYPE "ssh-ed25519"
#define TYPE_SUFFIX    "-cert-v01@openssh.com"
#define SK_SUFFIX      "@openssh.com"
#define KIND_USER      1
#define PRINCIPALS_MAX 256 /* the limit of OpenSSH */

/* --- authorities --- */

void ssh_authorities_deinit(struct ssh_authorities *authorities)
{
    for (unsigned i = 0; i < authorities->count; i++)
        free(authorities->list[i].text);
    authorities->count = 0;
}

/* Read an authority from a line. Returns -1 for a line of another form. */
static int take_authority(const char *line, struct ssh_authority *authority)
{
    unsigned char bytes[SSH_PUBLIC_KEY_MAX];
    const size_t skipped = strlen(AUTHORITY_TYPE " ");
    error_auto ignored = NULL;
    struct ssh_public_key key;
    size_t size;
    if (!str_starts_with(line, AUTHORITY_TYPE " ") ||
        ssh_public_key_parse(line, "/line", &key, &ignored) < 0)
        return -1;
    base64_decode(key.text + skipped, strlen(key.text + skipped), bytes, sizeof bytes, &size);
    authority->text = key.text;
    memcpy(authority->fingerprint, key.fingerprint, sizeof authority->fingerprint);
    memcpy(authority->key, bytes + size - sizeof authority->key, sizeof authority->key);
    return 0;
}

int ssh_authorities_read(const char *path, struct ssh_authorities *authorities, struct error **err)
{
    char line[2 * SSH_PUBLIC_KEY_MAX];
    int result = 0;
    *authorities = (struct ssh_authorities){.count = 0};
    autofclose FILE *file = fopen(path, "re");
    if (!file)
        return error_set_errno(err, ERR_CONFIG, errno, "cannot read the SSH authorities in %s",
                               path);
    for (unsigned number = 1; result == 0 && fgets(line, sizeof line, file); number++) {
        if (line[strspn(line, " \t\r\n")] == '\0' || *line == '#')
            continue;
        if (authorities->count == SSH_AUTHORITIES_MAX)
            result = error_set(err, ERR_CONFIG, "%s has more than %d SSH authorities", path,
                               SSH_AUTHORITIES_MAX);
        else if (take_authority(line, &authorities->list[authorities->count]) < 0)
            result = error_set(err, ERR_CONFIG, "line %u of %s is not a public key of type %s",
                               number, path, AUTHORITY_TYPE);
        else
            authorities->count++;
    }
    if (result == 0 && !authorities->count)
        result = error_set(err, ERR_CONFIG, "%s has no SSH authority", path);
    if (result < 0)
        ssh_authorities_deinit(authorities);
    return result;
}

/* --- certificates --- */

/* The fields of a certificate, in their order. Pieces point into its bytes. */
struct fields {
    uint64_t serial, kind, valid_from_s, valid_until_s;
    struct ssh_piece label, principals, options, extensions, authority, signature;
    size_t signed_size;
};

static int refuse(struct error **err, const char *why)
{
    return error_set(err, ERR_UNAUTHORIZED, "the certificate %s", why);
}

static bool take_number(const unsigned char **at, const unsigned char *end, size_t size,
                        uint64_t *value)
{
    if ((size_t)(end - *at) < size)
        return false;
    *value = be_get(*at, size);
    *at += size;
    return true;
}

/* Find the type of key in the name of a certificate type: "sk-ssh-ed25519-cert-v01@openssh.com"
 * certifies "sk-ssh-ed25519@openssh.com". */
static bool plain_type(const struct ssh_piece *name, char *type, size_t room)
{
    const size_t suffix = strlen(TYPE_SUFFIX);
    if (name->size <= suffix || name->size >= room ||
        memcmp(name->data + name->size - suffix, TYPE_SUFFIX, suffix) != 0)
        return false;
    snprintf(type, room, "%.*s%s", (int)(name->size - suffix), (const char *)name->data,
             !memcmp(name->data, "sk-", 3) ? SK_SUFFIX : "");
    return true;
}

static bool take_fields(const unsigned char *bytes, size_t size, struct fields *fields)
{
    char type[64];
    const unsigned char *at = bytes, *end = bytes + size;
    struct ssh_piece name, nonce, reserved;
    if (!ssh_piece_take(&at, end, &name) || !plain_type(&name, type, sizeof type) ||
        !ssh_piece_take(&at, end, &nonce) || !ssh_key_bytes_take(type, &at, end) ||
        !take_number(&at, end, 8, &fields->serial) || !take_number(&at, end, 4, &fields->kind) ||
        !ssh_piece_take(&at, end, &fields->label) ||
        !ssh_piece_take(&at, end, &fields->principals) ||
        !take_number(&at, end, 8, &fields->valid_from_s) ||
        !take_number(&at, end, 8, &fields->valid_until_s) ||
        !ssh_piece_take(&at, end, &fields->options) ||
        !ssh_piece_take(&at, end, &fields->extensions) || !ssh_piece_take(&at, end, &reserved) ||
        !ssh_piece_take(&at, end, &fields->authority))
        return false;
    fields->signed_size = (size_t)(at - bytes);
    return ssh_piece_take(&at, end, &fields->signature) && at == end;
}

/* Return the payload of a piece that holds our type and one piece of this size, or NULL. */
static const unsigned char *payload_of(const struct ssh_piece *piece, size_t size)
{
    const unsigned char *at = piece->data, *end = piece->data + piece->size;
    struct ssh_piece name, payload;
    bool fits = ssh_piece_take(&at, end, &name) && ssh_piece_is(&name, AUTHORITY_TYPE) &&
                ssh_piece_take(&at, end, &payload) && payload.size == size && at == end;
    return fits ? payload.data : NULL;
}

static const struct ssh_authority *find_authority(const struct ssh_authorities *authorities,
                                                  const struct fields *fields)
{
    const unsigned char *key = payload_of(&fields->authority, crypto_sign_PUBLICKEYBYTES);
    for (unsigned i = 0; key && i < authorities->count; i++)
        if (!memcmp(authorities->list[i].key, key, crypto_sign_PUBLICKEYBYTES))
            return &authorities->list[i];
    return NULL;
}

static bool is_signed(const unsigned char *bytes, const struct fields *fields,
                      const struct ssh_authority *authority)
{
    const unsigned char *signature = payload_of(&fields->signature, crypto_sign_BYTES);
    return signature &&
           !crypto_sign_verify_detached(signature, bytes, fields->signed_size, authority->key);
}

/* Find the user's name. Exactly one principal must begin with the prefix. */
static int take_principal(const struct ssh_piece *all, const char *prefix, char *user_name,
                          struct error **err)
{
    const unsigned char *at = all->data, *end = all->data + all->size;
    const size_t skipped = strlen(prefix);
    struct ssh_piece one;
    unsigned count = 0;
    *user_name = '\0';
    for (unsigned i = 0; at < end; i++) {
        if (i == PRINCIPALS_MAX || !ssh_piece_take(&at, end, &one))
            return refuse(err, "has damaged principals");
        if (one.size < skipped || memcmp(one.data, prefix, skipped) != 0)
            continue;
        if (++count > 1)
            return refuse(err, "has more than one principal of this service");
        if (one.size - skipped <= SLUG_MAX && !memchr(one.data, '\0', one.size))
            snprintf(user_name, SLUG_MAX + 1, "%.*s", (int)(one.size - skipped),
                     (const char *)one.data + skipped);
    }
    return slug_is_valid(user_name) ? 0
                                    : refuse(err, "has no principal that is the name of a user");
}

/* Read the client's rights from the extensions, each of which is a name and a value. */
static int take_extensions(const struct ssh_piece *all, struct ssh_certificate *certificate,
                           struct error **err)
{
    const unsigned char *at = all->data, *end = all->data + all->size;
    struct ssh_piece name, value;
    while (at < end) {
        if (!ssh_piece_take(&at, end, &name) || !ssh_piece_take(&at, end, &value))
            return refuse(err, "has damaged extensions");
        certificate->allows_terminals |= ssh_piece_is(&name, "permit-pty");
        certificate->allows_ports |= ssh_piece_is(&name, "permit-port-forwarding");
    }
    return 0;
}

static void take_label(const struct ssh_piece *piece, char *label, size_t room)
{
    const char *text = (const char *)piece->data;
    bool is_text = piece->size < room && str_is_utf8(text, piece->size);
    for (size_t i = 0; i < piece->size && is_text; i++)
        is_text = piece->data[i] >= 0x20 && piece->data[i] != 0x7f;
    snprintf(label, room, "%.*s", is_text ? (int)piece->size : 0, text);
}

/* Check the contents of a certificate whose signature is right. */
static int take_contents(const struct fields *fields, const char *prefix, int64_t now_ms,
                         struct ssh_certificate *certificate, struct error **err)
{
    uint64_t now_s = (uint64_t)now_ms / 1000;
    certificate->serial = fields->serial;
    take_label(&fields->label, certificate->label, sizeof certificate->label);
    if (fields->kind != KIND_USER)
        return refuse(err, "is not a user certificate");
    if (now_s < fields->valid_from_s)
        return refuse(err, "is not valid yet");
    if (now_s >= fields->valid_until_s)
        return refuse(err, "has expired");
    /* A server must obey each critical option, and we support none. */
    if (fields->options.size)
        return refuse(err, "has critical options, which are not supported");
    if (take_extensions(&fields->extensions, certificate, err) < 0)
        return -1;
    return take_principal(&fields->principals, prefix, certificate->user_name, err);
}

int ssh_certificate_check(const struct ssh_authorities *authorities, const char *prefix,
                          const char *base64, int64_t now_ms, struct ssh_certificate *certificate,
                          struct error **err)
{
    unsigned char bytes[SSH_CERTIFICATE_MAX];
    size_t size;
    struct fields fields;
    *certificate = (struct ssh_certificate){.serial = 0};
    if (base64_decode(base64, strlen(base64), bytes, sizeof bytes, &size) < 0 ||
        !take_fields(bytes, size, &fields))
        return refuse(err, "is damaged, is too long, or has a type that is not supported");
    certificate->authority = find_authority(authorities, &fields);
    if (!certificate->authority)
        return refuse(err, "is signed by an authority that is not in ssh_user_ca_file");
    if (!is_signed(bytes, &fields, certificate->authority))
        return refuse(err, "has a wrong signature");
    return take_contents(&fields, prefix, now_ms, certificate, err);
}

/* --- signing in --- */

int ssh_certificate_user(struct db *db, const struct ssh_certificate *certificate,
                         struct user *user, struct error **err)
{
    if (user_get_by_name(db, certificate->user_name, user, err) < 0) {
        if (!error_clear_if(err, ERR_NOT_FOUND))
            return -1;
        return refuse(err, "has the name of a user who does not exist");
    }
    return user->disabled_at_ms ? refuse(err, "has the name of a user who is disabled") : 0;
}

/* Make the fingerprint for a user and an authority. No public key has it: the bytes of a key do not
 * begin with this text. */
static void fingerprint_of(const struct user *user, const struct ssh_authority *authority,
                           char fingerprint[SSH_FINGERPRINT_SIZE])
{
    autofree char *text = xasprintf("certificates of %s by %s", user->id, authority->fingerprint);
    ssh_fingerprint((const unsigned char *)text, strlen(text), fingerprint);
}

static int make_key(struct db *db, const struct keyring *ring, const struct user *user,
                    const struct ssh_authority *authority, const char *fingerprint,
                    struct error **err)
{
    struct api_key key;
    struct ssh_public_key public = {.text = authority->text};
    const struct api_key_request request = {
        .user_id = user->id, .name = "certificates", .can_write = true, .ssh = &public};
    snprintf(public.fingerprint, sizeof public.fingerprint, "%s", fingerprint);
    if (ssh_key_create(db, ring, &request, &key, err) == 0)
        api_key_deinit(&key);
    else if ((*err)->code != ERR_NAME_TAKEN)
        return -1;
    error_clear(err); /* two first sign-ins at once: the other one made the key */
    return 0;
}

int ssh_certificate_login(struct db *db, const struct keyring *ring,
                          const struct ssh_certificate *certificate,
                          char fingerprint[SSH_FINGERPRINT_SIZE], struct ssh_login *login,
                          struct error **err)
{
    struct user user;
    if (ssh_certificate_user(db, certificate, &user, err) < 0)
        return -1;
    fingerprint_of(&user, certificate->authority, fingerprint);
    if (ssh_login_find(db, fingerprint, login, err) == 0)
        return 0;
    if (!error_clear_if(err, ERR_UNAUTHORIZED))
        return -1;
    if (make_key(db, ring, &user, certificate->authority, fingerprint, err) < 0)
        return -1;
    return ssh_login_find(db, fingerprint, login, err);
}
