/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sealed bytes for the database: XChaCha20-Poly1305 (crypto_aead_xchacha20poly1305_ietf) under the
 * envelope subkey. Layout: version 1 (1 byte), key id (2, big endian), nonce (24), ciphertext and
 * tag. The associated data binds a value to its row, so that it cannot be moved to another one.
 */
#pragma once

#include <stddef.h>

#include "base/buffer.h"
#include "crypto/keyring.h"

/* Most bytes that are sealed at once, and the longest associated name. */
#define AEAD_DATA_MAX       ((size_t)16 << 20)
#define AEAD_ASSOCIATED_MAX ((size_t)1024)

/* Append the sealed form of data to out. associated: usually the row's id. */
int aead_seal(const struct keyring *ring, const void *data, size_t size, const char *associated,
              struct buffer *out, struct error **err);

/* Append the plain bytes to out (the caller wipes it). Tampered, truncated, moved, or sealed under
 * a key that the ring does not have: ERR_INTERNAL. */
int aead_open(const struct keyring *ring, const void *sealed, size_t size, const char *associated,
              struct buffer *out, struct error **err);
