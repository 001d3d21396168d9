/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "httpd/secret.h"

#include <sodium.h>

static int digest(unsigned char out[SHARED_SECRET_DIGEST], const char *hex, size_t length)
{
    unsigned char secret[SHARED_SECRET_HEX / 2];
    size_t decoded;
    int rc = -1;
    if (length == SHARED_SECRET_HEX &&
        sodium_hex2bin(secret, sizeof secret, hex, length, NULL, &decoded, NULL) == 0 &&
        decoded == sizeof secret)
        rc = crypto_generichash(out, SHARED_SECRET_DIGEST, secret, sizeof secret, NULL, 0);
    sodium_memzero(secret, sizeof secret);
    return rc;
}

int shared_secret_set(struct shared_secret *secret, const char *hex, size_t length)
{
    if (digest(secret->digest, hex, length) < 0)
        return -1;
    secret->known = true;
    return 0;
}

bool shared_secret_matches(const struct shared_secret *secret, const char *hex, size_t length)
{
    unsigned char given[SHARED_SECRET_DIGEST];
    return digest(given, hex, length) == 0 && secret->known &&
           sodium_memcmp(given, secret->digest, sizeof given) == 0;
}
