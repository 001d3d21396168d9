/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "account/volume_token.h"

#include <string.h>

#include "account/api_key_row.h"
#include "crypto/signed_token.h"

#define VERSION 1

struct body {
    char lookup[API_KEY_LOOKUP_LENGTH];
    char volume_id[ID_SIZE - 1];
};

_Static_assert(SIGNED_TOKEN_SIZE(VOLUME_TOKEN_PREFIX, sizeof(struct body)) <= VOLUME_TOKEN_SIZE,
               "token fits");

static const struct signed_token_kind kind = {KEY_PURPOSE_VOLUME, VOLUME_TOKEN_PREFIX,
                                              sizeof(struct body)};

int volume_token_make(const struct keyring *ring, const struct principal *principal,
                      const char *volume_id, char token[VOLUME_TOKEN_SIZE], struct error **err)
{
    struct body body;
    memcpy(body.lookup, principal->key_lookup, sizeof body.lookup);
    memcpy(body.volume_id, volume_id, sizeof body.volume_id);
    return signed_token_make(ring, &kind, keyring_newest(ring), VERSION, &body, token, err);
}

int volume_token_open(const struct keyring *ring, const char *token, char lookup[13],
                      char volume_id[ID_SIZE])
{
    struct body body;
    unsigned char version;
    if (signed_token_open(ring, &kind, token, &version, &body) < 0 || version != VERSION)
        return -1;
    memcpy(lookup, body.lookup, sizeof body.lookup);
    lookup[sizeof body.lookup] = '\0';
    memcpy(volume_id, body.volume_id, sizeof body.volume_id);
    volume_id[sizeof body.volume_id] = '\0';
    return 0;
}
