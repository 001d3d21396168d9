/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "crypto/signed_token.h"

#include <string.h>

#include "base/big_endian.h"
#include "base/mem.h"
#include "base/str.h"

/* As it is in the token; the MAC comes after the body, wherever that ends. */
struct wire {
    unsigned char version;
    unsigned char ring_key[2];
    unsigned char body_and_mac[SIGNED_TOKEN_BODY_MAX + MAC_BYTES];
};
#define HEAD_BYTES offsetof(struct wire, body_and_mac)

static size_t wire_bytes(const struct signed_token_kind *kind)
{
    return HEAD_BYTES + kind->body_bytes + MAC_BYTES;
}

static int sign(const struct keyring *ring, const struct signed_token_kind *kind,
                const struct wire *wire, unsigned char mac[MAC_BYTES], struct error **err)
{
    uint16_t ring_key = (uint16_t)be_get(wire->ring_key, sizeof wire->ring_key);
    return mac_compute(ring, ring_key, kind->purpose, wire, HEAD_BYTES + kind->body_bytes, mac,
                       err);
}

int signed_token_make(const struct keyring *ring, const struct signed_token_kind *kind,
                      uint16_t ring_key, unsigned char version, const void *body, char *token,
                      struct error **err)
{
    struct wire wire = {.version = version};
    size_t prefix_length = strlen(kind->prefix);
    be_put(wire.ring_key, sizeof wire.ring_key, ring_key);
    memcpy(wire.body_and_mac, body, kind->body_bytes);
    int result = sign(ring, kind, &wire, wire.body_and_mac + kind->body_bytes, err);
    if (result == 0) {
        memcpy(token, kind->prefix, prefix_length);
        base64url_encode(&wire, wire_bytes(kind), token + prefix_length);
    }
    mem_wipe(&wire, sizeof wire);
    return result;
}

int signed_token_open(const struct keyring *ring, const struct signed_token_kind *kind,
                      const char *token, unsigned char *version, void *body)
{
    struct wire wire;
    unsigned char mac[MAC_BYTES];
    error_auto ignored = NULL;
    if (!token || !str_starts_with(token, kind->prefix) ||
        base64url_decode(token + strlen(kind->prefix), &wire, sizeof wire) != (int)wire_bytes(kind))
        return -1;
    bool valid = sign(ring, kind, &wire, mac, &ignored) == 0 &&
                 mac_equal(mac, wire.body_and_mac + kind->body_bytes);
    if (valid) {
        *version = wire.version;
        memcpy(body, wire.body_and_mac, kind->body_bytes);
    }
    mem_wipe(mac, sizeof mac);
    mem_wipe(&wire, sizeof wire);
    return valid ? 0 : -1;
}
