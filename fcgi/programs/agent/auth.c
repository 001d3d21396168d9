/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/auth.h"

#include <sodium.h>
#include <string.h>

static int digest(unsigned char out[AUTH_DIGEST_BYTES], const char *hex, size_t length)
{
    unsigned char secret[AUTH_SECRET_HEX / 2];
    size_t decoded;
    int rc = -1;
    if (length == AUTH_SECRET_HEX &&
        sodium_hex2bin(secret, sizeof secret, hex, length, NULL, &decoded, NULL) == 0 &&
        decoded == sizeof secret)
        rc = crypto_generichash(out, AUTH_DIGEST_BYTES, secret, sizeof secret, NULL, 0);
    sodium_memzero(secret, sizeof secret);
    return rc;
}

int auth_set(struct auth *auth, const char *hex, size_t length)
{
    if (digest(auth->digest, hex, length) < 0)
        return -1;
    auth->known = true;
    return 0;
}

bool auth_matches(const struct auth *auth, const char *hex, size_t length)
{
    unsigned char given[AUTH_DIGEST_BYTES];
    return digest(given, hex, length) == 0 && auth->known &&
           sodium_memcmp(given, auth->digest, sizeof given) == 0;
}
