/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/auth.h"

#include <sodium.h>
#include <string.h>

static int decode(unsigned char out[AUTH_SECRET_HEX / 2], const char *hex, size_t length)
{
    size_t decoded;
    if (length != AUTH_SECRET_HEX ||
        sodium_hex2bin(out, AUTH_SECRET_HEX / 2, hex, length, NULL, &decoded, NULL) != 0 ||
        decoded != AUTH_SECRET_HEX / 2)
        return -1;
    return 0;
}

int auth_set(struct auth *auth, const char *hex, size_t length)
{
    unsigned char secret[AUTH_SECRET_HEX / 2];
    int rc = decode(secret, hex, length);
    if (rc == 0) {
        memcpy(auth->secret, secret, sizeof secret);
        auth->known = true;
    }
    sodium_memzero(secret, sizeof secret);
    return rc;
}

bool auth_matches(const struct auth *auth, const char *hex, size_t length)
{
    unsigned char secret[AUTH_SECRET_HEX / 2];
    bool matches = decode(secret, hex, length) == 0 && auth->known &&
                   sodium_memcmp(secret, auth->secret, sizeof secret) == 0;
    sodium_memzero(secret, sizeof secret);
    return matches;
}
