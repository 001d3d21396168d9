/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "crypto/aead.h"

#include <sodium.h>

#include "crypto/crypto.h"

#define AEAD_VERSION 1
#define NONCE_BYTES  crypto_aead_xchacha20poly1305_ietf_NPUBBYTES
#define TAG_BYTES    crypto_aead_xchacha20poly1305_ietf_ABYTES
#define HEAD_BYTES   (1 + 2 + NONCE_BYTES)

_Static_assert(KEYRING_SUBKEY_BYTES == crypto_aead_xchacha20poly1305_ietf_KEYBYTES,
               "a subkey is a key of the cipher");

/* The authenticated data: the first three bytes (version and key id, so that they cannot be changed
 * either) and the name of the row. */
static void associate(struct buffer *out, const unsigned char *head, const char *associated)
{
    buffer_append(out, head, 3);
    buffer_append_string(out, associated);
}

int aead_seal(const struct keyring *ring, const void *data, size_t size, const char *associated,
              struct buffer *out, struct error **err)
{
    crypto_init();
    uint16_t key_id = keyring_newest(ring);
    unsigned char key[KEYRING_SUBKEY_BYTES];
    if (keyring_subkey(ring, key_id, KEY_PURPOSE_SEALED, key, err) < 0)
        return -1;

    unsigned char *room = size <= AEAD_DATA_MAX
                              ? (unsigned char *)buffer_reserve(out, HEAD_BYTES + size + TAG_BYTES)
                              : NULL;
    if (!room) {
        sodium_memzero(key, sizeof key);
        return error_set(err, ERR_INTERNAL, "cannot encrypt %zu bytes: the value is too large",
                         size);
    }
    room[0] = AEAD_VERSION;
    room[1] = (unsigned char)(key_id >> 8);
    room[2] = (unsigned char)key_id;
    randombytes_buf(room + 3, NONCE_BYTES);

    buffer_auto bound = BUFFER_INIT(AEAD_ASSOCIATED_MAX + 3);
    associate(&bound, room, associated);
    unsigned long long sealed_size = 0;
    if (!buffer_overflowed(&bound))
        crypto_aead_xchacha20poly1305_ietf_encrypt(room + HEAD_BYTES, &sealed_size, data, size,
                                                   (unsigned char *)bound.data, bound.size, NULL,
                                                   room + 3, key);
    sodium_memzero(key, sizeof key);
    if (buffer_overflowed(&bound))
        return error_set(err, ERR_INTERNAL,
                         "cannot encrypt the value: the name of its place is too long");
    buffer_commit(out, HEAD_BYTES + (size_t)sealed_size);
    return 0;
}

static int open_body(const unsigned char *head, const unsigned char *key, size_t body_size,
                     const char *associated, struct buffer *out, struct error **err)
{
    buffer_auto bound = BUFFER_INIT(AEAD_ASSOCIATED_MAX + 3);
    associate(&bound, head, associated);
    unsigned char *room = (unsigned char *)buffer_reserve(out, body_size - TAG_BYTES);
    if (!room)
        return error_set(err, ERR_INTERNAL, "cannot decrypt the value: it is too large");
    unsigned long long size = 0;
    if (buffer_overflowed(&bound) || crypto_aead_xchacha20poly1305_ietf_decrypt(
                                         room, &size, NULL, head + HEAD_BYTES, body_size,
                                         (unsigned char *)bound.data, bound.size, head + 3, key))
        return error_set(
            err, ERR_INTERNAL,
            "cannot decrypt the value: it was changed, or was encrypted for another place");
    buffer_commit(out, (size_t)size);
    return 0;
}

int aead_open(const struct keyring *ring, const void *sealed, size_t size, const char *associated,
              struct buffer *out, struct error **err)
{
    crypto_init();
    const unsigned char *head = sealed;
    if (size < HEAD_BYTES + TAG_BYTES || size > AEAD_DATA_MAX + HEAD_BYTES + TAG_BYTES)
        return error_set(err, ERR_INTERNAL, "cannot decrypt the value: it has a wrong size");
    if (head[0] != AEAD_VERSION)
        return error_set(err, ERR_INTERNAL,
                         "cannot decrypt the value: its format has the unknown version %u",
                         head[0]);
    unsigned char key[KEYRING_SUBKEY_BYTES];
    if (keyring_subkey(ring, (uint16_t)(head[1] << 8 | head[2]), KEY_PURPOSE_SEALED, key, err) < 0)
        return error_recode(err, ERR_INTERNAL);
    int result = open_body(head, key, size - HEAD_BYTES, associated, out, err);
    sodium_memzero(key, sizeof key);
    return result;
}
