/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Make and check tokens with a body that a MAC protects. A token is a prefix and base64url of four
 * parts: a version, the number of the ring's key, a body of fixed size, and the MAC of these three.
 * The holder of a token can read its body. */
#pragma once

#include "crypto/keyring.h"
#include "crypto/mac.h"

#define SIGNED_TOKEN_BODY_MAX 64
/* Of the whole text, with its NUL. */
#define SIGNED_TOKEN_SIZE(prefix, body_bytes) \
    (sizeof(prefix) - 1 + BASE64_SIZE(1 + 2 + (body_bytes) + MAC_BYTES))

struct signed_token_kind {
    enum key_purpose purpose;
    const char *prefix;
    size_t body_bytes; /* at most SIGNED_TOKEN_BODY_MAX */
};

/* Write a token with the ring's key of this id. token has at least SIGNED_TOKEN_SIZE bytes; the
 * caller wipes it. Errors: those of mac_compute(). */
int signed_token_make(const struct keyring *ring, const struct signed_token_kind *kind,
                      uint16_t ring_key, unsigned char version, const void *body, char *token,
                      struct error **err);

/* Read the version and the body of a token of this kind that one of the ring's keys has signed.
 * Returns 0. For any other text, and for NULL, returns -1, and *version and body are unchanged. */
int signed_token_open(const struct keyring *ring, const struct signed_token_kind *kind,
                      const char *token, unsigned char *version, void *body);
