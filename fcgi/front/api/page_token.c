/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "api/page_token.h"

#include <assert.h>
#include <string.h>

#include "crypto/mac.h"

/* The parts of a token: the key's id, the bytes, the MAC. */
#define KEY_ID_BYTES 2
#define WIRE_MAX     (KEY_ID_BYTES + PAGE_TOKEN_BYTES_MAX + MAC_BYTES)
_Static_assert(BASE64_SIZE(WIRE_MAX) <= PAGE_TOKEN_SIZE, "token fits");

static int compute_mac(const struct keyring *ring, const unsigned char *wire, size_t size,
                       const struct buffer *scope, unsigned char mac[MAC_BYTES], struct error **err)
{
    buffer_auto text = BUFFER_INIT(PAGE_TOKEN_BYTES_MAX + scope->size);
    if (buffer_overflowed(scope))
        return error_set(err, ERR_INTERNAL, "the filters of a list are too large");
    buffer_append(&text, wire + KEY_ID_BYTES, size);
    buffer_append(&text, scope->data, scope->size);
    return mac_compute(ring, (uint16_t)(wire[0] << 8 | wire[1]), KEY_PURPOSE_PAGE_TOKEN, text.data,
                       text.size, mac, err);
}

int page_token_write(const struct keyring *ring, const void *bytes, size_t size,
                     const struct buffer *scope, char token[PAGE_TOKEN_SIZE], struct error **err)
{
    unsigned char wire[WIRE_MAX];
    uint16_t key_id = keyring_newest(ring);
    assert(size <= PAGE_TOKEN_BYTES_MAX);
    wire[0] = (unsigned char)(key_id >> 8);
    wire[1] = (unsigned char)key_id;
    memcpy(wire + KEY_ID_BYTES, bytes, size);
    if (compute_mac(ring, wire, size, scope, wire + KEY_ID_BYTES + size, err) < 0)
        return -1;
    base64url_encode(wire, KEY_ID_BYTES + size + MAC_BYTES, token);
    return 0;
}

bool page_token_read(const struct keyring *ring, const char *token, const struct buffer *scope,
                     void *bytes, size_t size)
{
    unsigned char wire[WIRE_MAX], mac[MAC_BYTES];
    size_t whole = KEY_ID_BYTES + size + MAC_BYTES;
    error_auto ignored = NULL;
    assert(size <= PAGE_TOKEN_BYTES_MAX);
    if (base64url_decode(token, wire, whole) != (ssize_t)whole ||
        compute_mac(ring, wire, size, scope, mac, &ignored) < 0 ||
        !mac_equal(mac, wire + KEY_ID_BYTES + size))
        return false;
    memcpy(bytes, wire + KEY_ID_BYTES, size);
    return true;
}
