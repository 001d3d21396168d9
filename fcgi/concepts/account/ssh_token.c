/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "account/ssh_token.h"

#include <string.h>

#include "base/big_endian.h"
#include "base/clock.h"
#include "crypto/signed_token.h"

#define VERSION 1

struct body {
    unsigned char ends[8]; /* seconds since 1970, big endian */
    char lookup[API_KEY_LOOKUP_LENGTH];
};

_Static_assert(SIGNED_TOKEN_SIZE(SSH_TOKEN_PREFIX, sizeof(struct body)) <= SSH_TOKEN_SIZE,
               "token fits");

static const struct signed_token_kind kind = {KEY_PURPOSE_SSH, SSH_TOKEN_PREFIX,
                                              sizeof(struct body)};

int ssh_token_make(const struct keyring *ring, const struct ssh_login *login, uint64_t ttl_s,
                   char token[SSH_TOKEN_SIZE], struct error **err)
{
    struct body body;
    be_put(body.ends, sizeof body.ends, (uint64_t)clock_now_ms() / 1000 + ttl_s);
    memcpy(body.lookup, login->lookup, sizeof body.lookup);
    return signed_token_make(ring, &kind, keyring_newest(ring), VERSION, &body, token, err);
}

int ssh_token_open(const struct keyring *ring, const char *token,
                   char lookup[API_KEY_LOOKUP_LENGTH + 1])
{
    struct body body;
    unsigned char version;
    if (signed_token_open(ring, &kind, token, &version, &body) < 0 || version != VERSION ||
        be_get(body.ends, sizeof body.ends) <= (uint64_t)clock_now_ms() / 1000)
        return -1;
    memcpy(lookup, body.lookup, sizeof body.lookup);
    lookup[sizeof body.lookup] = '\0';
    return 0;
}
