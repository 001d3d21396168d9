/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "account/ssh_token.h"

#include <string.h>

#include "base/big_endian.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "crypto/mac.h"

#define VERSION 1

/* What the token says, integers big endian; the MAC covers everything before it. */
struct wire {
    unsigned char version;
    unsigned char ring_key[2];
    unsigned char ends[8]; /* seconds since 1970 */
    char lookup[API_KEY_LOOKUP_LENGTH];
    unsigned char mac[MAC_BYTES];
};
#define SIGNED_BYTES offsetof(struct wire, mac)

_Static_assert(sizeof(struct wire) == 1 + 2 + 8 + API_KEY_LOOKUP_LENGTH + MAC_BYTES,
               "wire is packed");
_Static_assert(sizeof SSH_TOKEN_PREFIX - 1 + BASE64_SIZE(sizeof(struct wire)) <= SSH_TOKEN_SIZE,
               "token fits");

int ssh_token_make(const struct keyring *ring, const struct ssh_login *login, uint64_t ttl_s,
                   char token[SSH_TOKEN_SIZE], struct error **err)
{
    struct wire wire = {.version = VERSION};
    uint16_t ring_key = keyring_newest(ring);
    be_put(wire.ring_key, sizeof wire.ring_key, ring_key);
    be_put(wire.ends, sizeof wire.ends, (uint64_t)clock_now_ms() / 1000 + ttl_s);
    memcpy(wire.lookup, login->lookup, sizeof wire.lookup);
    if (mac_compute(ring, ring_key, KEY_PURPOSE_SSH, &wire, SIGNED_BYTES, wire.mac, err) < 0)
        return -1;
    memcpy(token, SSH_TOKEN_PREFIX, sizeof SSH_TOKEN_PREFIX);
    base64url_encode(&wire, sizeof wire, token + sizeof SSH_TOKEN_PREFIX - 1);
    mem_wipe(&wire, sizeof wire);
    return 0;
}

int ssh_token_open(const struct keyring *ring, const char *token,
                   char lookup[API_KEY_LOOKUP_LENGTH + 1])
{
    struct wire wire;
    unsigned char mac[MAC_BYTES];
    error_auto ignored = NULL;
    const char *text = token + sizeof SSH_TOKEN_PREFIX - 1;
    if (base64url_decode(text, &wire, sizeof wire) != sizeof wire || wire.version != VERSION)
        return -1;
    uint16_t ring_key = (uint16_t)be_get(wire.ring_key, sizeof wire.ring_key);
    bool valid =
        mac_compute(ring, ring_key, KEY_PURPOSE_SSH, &wire, SIGNED_BYTES, mac, &ignored) == 0 &&
        mac_equal(mac, wire.mac) &&
        be_get(wire.ends, sizeof wire.ends) > (uint64_t)clock_now_ms() / 1000;
    memcpy(lookup, wire.lookup, sizeof wire.lookup);
    lookup[sizeof wire.lookup] = '\0';
    mem_wipe(mac, sizeof mac);
    mem_wipe(&wire, sizeof wire);
    return valid ? 0 : -1;
}
