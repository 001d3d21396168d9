/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "account/volume_token.h"

#include <string.h>

#include "account/api_key_row.h"
#include "base/big_endian.h"
#include "base/mem.h"
#include "base/str.h"
#include "crypto/mac.h"

#define VERSION 1

/* What the token says; the MAC covers everything before it. */
struct wire {
    unsigned char version;
    unsigned char ring_key[2];
    char lookup[API_KEY_LOOKUP_LENGTH];
    char volume_id[ID_SIZE - 1];
    unsigned char mac[MAC_BYTES];
};
#define SIGNED_BYTES offsetof(struct wire, mac)

_Static_assert(sizeof(struct wire) == 1 + 2 + API_KEY_LOOKUP_LENGTH + ID_SIZE - 1 + MAC_BYTES,
               "wire is packed");
_Static_assert(sizeof VOLUME_TOKEN_PREFIX - 1 + BASE64_SIZE(sizeof(struct wire)) <=
                   VOLUME_TOKEN_SIZE,
               "token fits");

int volume_token_make(const struct keyring *ring, const struct principal *principal,
                      const char *volume_id, char token[VOLUME_TOKEN_SIZE], struct error **err)
{
    struct wire wire = {.version = VERSION};
    uint16_t ring_key = keyring_newest(ring);
    be_put(wire.ring_key, sizeof wire.ring_key, ring_key);
    memcpy(wire.lookup, principal->key_lookup, sizeof wire.lookup);
    memcpy(wire.volume_id, volume_id, sizeof wire.volume_id);
    if (mac_compute(ring, ring_key, KEY_PURPOSE_VOLUME, &wire, SIGNED_BYTES, wire.mac, err) < 0)
        return -1;
    memcpy(token, VOLUME_TOKEN_PREFIX, sizeof VOLUME_TOKEN_PREFIX);
    base64url_encode(&wire, sizeof wire, token + sizeof VOLUME_TOKEN_PREFIX - 1);
    mem_wipe(&wire, sizeof wire);
    return 0;
}

int volume_token_open(const struct keyring *ring, const char *token, char lookup[13],
                      char volume_id[ID_SIZE])
{
    struct wire wire;
    unsigned char mac[MAC_BYTES];
    error_auto ignored = NULL;
    const char *text = token + sizeof VOLUME_TOKEN_PREFIX - 1;
    if (base64url_decode(text, &wire, sizeof wire) != sizeof wire || wire.version != VERSION)
        return -1;
    uint16_t ring_key = (uint16_t)be_get(wire.ring_key, sizeof wire.ring_key);
    bool valid =
        mac_compute(ring, ring_key, KEY_PURPOSE_VOLUME, &wire, SIGNED_BYTES, mac, &ignored) == 0 &&
        mac_equal(mac, wire.mac);
    memcpy(lookup, wire.lookup, sizeof wire.lookup);
    lookup[sizeof wire.lookup] = '\0';
    memcpy(volume_id, wire.volume_id, sizeof wire.volume_id);
    volume_id[sizeof wire.volume_id] = '\0';
    mem_wipe(mac, sizeof mac);
    mem_wipe(&wire, sizeof wire);
    return valid ? 0 : -1;
}
