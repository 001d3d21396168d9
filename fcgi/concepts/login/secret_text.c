/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "login/secret_text.h"

#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"

#define SECRET_BYTES 32

int secret_hash_text(const struct keyring *ring, uint16_t key_id, const char *text,
                     unsigned char hash[MAC_BYTES], struct error **err)
{
    return mac_compute(ring, key_id, KEY_PURPOSE_LOGIN, text, strlen(text), hash, err);
}

int secret_text_new(const struct keyring *ring, const char *id_prefix, char id[ID_SIZE],
                    char text[SECRET_TEXT_SIZE], struct secret_hash *kept, struct error **err)
{
    unsigned char secret[SECRET_BYTES];
    random_fill(secret, sizeof secret);
    id_new(id_prefix, id);
    snprintf(text, SECRET_TEXT_SIZE, "%s_", id);
    base64url_encode(secret, sizeof secret, text + ID_SIZE);
    mem_wipe(secret, sizeof secret);
    kept->key_id = keyring_newest(ring);
    /* The hash includes the id, so the hash of one row is useless in another row. */
    return secret_hash_text(ring, kept->key_id, text, kept->hash, err);
}

int secret_text_id(const char *id_prefix, const char *text, char id[ID_SIZE])
{
    static const char alphabet[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    if (strlen(text) != SECRET_TEXT_SIZE - 1 || text[ID_SIZE - 1] != '_' ||
        strspn(text + ID_SIZE, alphabet) != SECRET_LENGTH)
        return -1;
    memcpy(id, text, ID_SIZE - 1);
    id[ID_SIZE - 1] = '\0';
    return id_is_valid(id_prefix, id) ? 0 : -1;
}

bool secret_text_matches(const struct keyring *ring, const char *text,
                         const struct secret_hash *kept)
{
    unsigned char hash[MAC_BYTES] = {0};
    error_auto err = NULL;
    bool hashed = secret_hash_text(ring, kept->key_id, text, hash, &err) == 0;
    bool equal = hashed && mac_equal(hash, kept->hash);
    mem_wipe(hash, sizeof hash);
    if (!hashed)
        log_warning("cannot hash a secret to check it; the secret is refused",
                    LOG_INT("key", kept->key_id), LOG_ERROR(err));
    return equal;
}
