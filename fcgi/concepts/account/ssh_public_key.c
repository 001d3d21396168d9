/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "account/ssh_key_bytes.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "base/big_endian.h"
#include "base/mem.h"
#include "base/str.h"
#include "crypto/mac.h"

#define BLANKS " \t\r\n"

/* The pieces after the type in the bytes, a letter each:
 *   c curve's name, p point on it, 3 key of Ed25519, e exponent, n modulus, a application */
static const struct key_type {
    const char *name, *pieces, *curve;
    size_t point_size;
} types[] = {
    {"ssh-ed25519", "3", NULL, 0},
    {"ecdsa-sha2-nistp256", "cp", "nistp256", 65},
    {"ecdsa-sha2-nistp384", "cp", "nistp384", 97},
    {"ecdsa-sha2-nistp521", "cp", "nistp521", 133},
    {"ssh-rsa", "en", NULL, 0},
    {"sk-ssh-ed25519@openssh.com", "3a", NULL, 0},
    {"sk-ecdsa-sha2-nistp256@openssh.com", "cpa", "nistp256", 65},
};

void ssh_public_key_deinit(struct ssh_public_key *key)
{
    free(key->text);
    *key = (struct ssh_public_key){0};
}

static int refuse(const char *field, const char *why, struct error **err)
{
    return error_set_field(err, ERR_INVALID_REQUEST, field,
                           "%s Send the line of a .pub file: type, base64 and a comment.", why);
}

static const struct key_type *find_type(const char *name)
{
    for (size_t i = 0; i < ARRAY_SIZE(types); i++)
        if (str_equal(types[i].name, name))
            return &types[i];
    return NULL;
}

bool ssh_piece_take(const unsigned char **at, const unsigned char *end, struct ssh_piece *piece)
{
    if (end - *at < 4)
        return false;
    size_t size = (size_t)be_get(*at, 4);
    *at += 4;
    if (size > (size_t)(end - *at))
        return false;
    *piece = (struct ssh_piece){*at, size};
    *at += size;
    return true;
}

bool ssh_piece_is(const struct ssh_piece *piece, const char *text)
{
    return piece->size == strlen(text) && !memcmp(piece->data, text, piece->size);
}

static size_t bits_of(const struct ssh_piece *number)
{
    size_t skipped = 0;
    while (skipped < number->size && !number->data[skipped])
        skipped++;
    if (skipped == number->size || number->data[0] & 0x80)
        return 0;
    size_t bits = (number->size - skipped) * 8;
    for (unsigned char top = number->data[skipped]; !(top & 0x80); top = (unsigned char)(top << 1))
        bits--;
    return bits;
}

static bool piece_fits(const struct key_type *type, char kind, const struct ssh_piece *piece)
{
    switch (kind) {
    case 'c':
        return ssh_piece_is(piece, type->curve);
    case 'p':
        return piece->size == type->point_size && piece->data[0] == 4;
    case '3':
        return piece->size == 32;
    case 'n':
        return bits_of(piece) >= SSH_RSA_BITS_MIN;
    default:
        return piece->size != 0;
    }
}

bool ssh_key_bytes_take(const char *name, const unsigned char **at, const unsigned char *end)
{
    const struct key_type *type = find_type(name);
    struct ssh_piece piece;
    for (const char *kind = type ? type->pieces : ""; *kind; kind++)
        if (!ssh_piece_take(at, end, &piece) || !piece_fits(type, *kind, &piece))
            return false;
    return type != NULL;
}

/* Check that the bytes name the same type as the line, and hold its pieces. */
static bool bytes_fit(const struct key_type *type, const unsigned char *bytes, size_t size)
{
    const unsigned char *at = bytes, *end = bytes + size;
    struct ssh_piece name;
    return ssh_piece_take(&at, end, &name) && ssh_piece_is(&name, type->name) &&
           ssh_key_bytes_take(type->name, &at, end) && at == end;
}

void ssh_fingerprint(const unsigned char *bytes, size_t size,
                     char fingerprint[SSH_FINGERPRINT_SIZE])
{
    unsigned char hash[crypto_hash_sha256_BYTES];
    crypto_hash_sha256(hash, bytes, size);
    sodium_bin2base64(fingerprint, SSH_FINGERPRINT_SIZE, hash, sizeof hash,
                      sodium_base64_VARIANT_ORIGINAL_NO_PADDING);
}

/* Use the comment as a name, unless it is too long or not printable text. */
static void set_comment(const char *text, char *comment, size_t room)
{
    size_t length = strcspn(text, "\r\n");
    bool is_text = str_is_utf8(text, length);
    for (size_t i = 0; i < length; i++)
        is_text &= (unsigned char)text[i] >= 0x20 && text[i] != 0x7f;
    if (is_text && length <= 64 && length < room)
        memcpy(comment, text, length);
}

int ssh_public_key_parse(const char *line, const char *field, struct ssh_public_key *key,
                         struct error **err)
{
    unsigned char bytes[SSH_PUBLIC_KEY_MAX];
    size_t size;
    *key = (struct ssh_public_key){0};
    line += strspn(line, BLANKS);
    if (str_starts_with(line, "-----BEGIN"))
        return refuse(
            field,
            "This looks like a private key. Never send a private key; send the public one (.pub).",
            err);
    autofree char *name = xstrndup(line, strcspn(line, BLANKS));
    const struct key_type *type = find_type(name);
    if (!type)
        return refuse(
            field,
            "The key's type is not supported. The types are ssh-ed25519, ecdsa-sha2-nistp256, -384 "
            "and -521, ssh-rsa, sk-ssh-ed25519@openssh.com and sk-ecdsa-sha2-nistp256@openssh.com.",
            err);
    const char *text = line + strlen(name) + strspn(line + strlen(name), BLANKS);
    size_t length = strcspn(text, BLANKS);
    if (base64_decode(text, length, bytes, sizeof bytes, &size) < 0)
        return refuse(field, "The text after the key's type is not base64, or is too long.", err);
    if (!bytes_fit(type, bytes, size))
        return refuse(field, "The key is damaged, or an RSA key of less than 2048 bits.", err);
    key->text = xasprintf("%s %.*s", type->name, (int)length, text);
    ssh_fingerprint(bytes, size, key->fingerprint);
    text += length;
    set_comment(text + strspn(text, BLANKS), key->comment, sizeof key->comment);
    return 0;
}
