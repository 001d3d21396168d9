/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Compute and compare MACs (keyed BLAKE2b, crypto_generichash, with the subkey of a purpose), and
 * convert bytes to the text forms that tokens and keys use. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "crypto/keyring.h"

#define MAC_BYTES 32

/* Compute the MAC of data with the subkey of (key_id, purpose). Errors: ERR_CONFIG (the ring has no
 * such key). */
int mac_compute(const struct keyring *ring, uint16_t key_id, enum key_purpose purpose,
                const void *data, size_t size, unsigned char out[MAC_BYTES], struct error **err);

/* Compute the MAC of a text in hexadecimal, for a secret that need not be stored, because it can be
 * computed again. The caller wipes it. Errors: those of mac_compute(). */
#define MAC_HEX_SIZE (2 * MAC_BYTES + 1)
int mac_hex(const struct keyring *ring, uint16_t key_id, enum key_purpose purpose, const char *text,
            char out[MAC_HEX_SIZE], struct error **err);

/* Compare two MACs in constant time. */
bool mac_equal(const unsigned char a[MAC_BYTES], const unsigned char b[MAC_BYTES]);

/* Fill a buffer with random bytes for secrets. */
void random_fill(void *out, size_t size);

/* Write URL-safe base64 without padding (RFC 4648, section 5). out needs BASE64_SIZE(size)
 * bytes. */
#define BASE64_SIZE(size) (((size)*4 + 2) / 3 + 1)
void base64url_encode(const void *data, size_t size, char *out);
/* Decode a whole text strictly into at most capacity bytes. Returns the size, or -1. */
int base64url_decode(const char *text, void *out, size_t capacity);

/* Write base64 with padding (RFC 4648, section 4). out needs BASE64_PADDED_SIZE(size) bytes. */
#define BASE64_PADDED_SIZE(size) (((size) + 2) / 3 * 4 + 1)
void base64_encode(const void *data, size_t size, char *out);
/* Decode a whole text strictly, without blanks, into at most capacity bytes. Returns 0 or -1. */
int base64_decode(const char *text, size_t length, void *out, size_t capacity, size_t *size);
