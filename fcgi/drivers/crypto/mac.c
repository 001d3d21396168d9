/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "crypto/mac.h"

#include <sodium.h>
#include <string.h>

#include "crypto/crypto.h"

int mac_compute(const struct keyring *ring, uint16_t key_id, enum key_purpose purpose,
                const void *data, size_t size, unsigned char out[MAC_BYTES], struct error **err)
{
    unsigned char key[KEYRING_SUBKEY_BYTES];
    if (keyring_subkey(ring, key_id, purpose, key, err) < 0)
        return -1;
    crypto_generichash(out, MAC_BYTES, data, size, key, sizeof key);
    sodium_memzero(key, sizeof key);
    return 0;
}

int mac_hex(const struct keyring *ring, uint16_t key_id, enum key_purpose purpose, const char *text,
            char out[MAC_HEX_SIZE], struct error **err)
{
    unsigned char mac[MAC_BYTES];
    if (mac_compute(ring, key_id, purpose, text, strlen(text), mac, err) < 0)
        return -1;
    sodium_bin2hex(out, MAC_HEX_SIZE, mac, sizeof mac);
    sodium_memzero(mac, sizeof mac);
    return 0;
}

bool mac_equal(const unsigned char a[MAC_BYTES], const unsigned char b[MAC_BYTES])
{
    return sodium_memcmp(a, b, MAC_BYTES) == 0;
}

void random_fill(void *out, size_t size)
{
    crypto_init();
    randombytes_buf(out, size);
}

void base64url_encode(const void *data, size_t size, char *out)
{
    sodium_bin2base64(out, BASE64_SIZE(size), data, size, sodium_base64_VARIANT_URLSAFE_NO_PADDING);
}

int base64url_decode(const char *text, void *out, size_t capacity)
{
    size_t length = strlen(text), size = 0;
    const char *end = NULL;
    if (sodium_base642bin(out, capacity, text, length, NULL, &size, &end,
                          sodium_base64_VARIANT_URLSAFE_NO_PADDING) != 0 ||
        end != text + length)
        return -1;
    return (int)size;
}

void base64_encode(const void *data, size_t size, char *out)
{
    sodium_bin2base64(out, BASE64_PADDED_SIZE(size), data, size, sodium_base64_VARIANT_ORIGINAL);
}

int base64_decode(const char *text, size_t length, void *out, size_t capacity, size_t *size)
{
    return sodium_base642bin(out, capacity, text, length, NULL, size, NULL,
                             sodium_base64_VARIANT_ORIGINAL);
}
