/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Encrypt bytes for the database with XChaCha20-Poly1305 (crypto_aead_xchacha20poly1305_ietf) and
 * the subkey KEY_PURPOSE_SEALED. Layout: version 1 (1 byte), key id (2, big endian), nonce (24),
 * ciphertext and tag. The associated data binds a value to its row, so that the value cannot be
 * moved to another row.
 */
#pragma once

#include <stddef.h>

#include "base/buffer.h"
#include "crypto/keyring.h"

/* Most bytes that are sealed at once, and the longest associated name. */
#define AEAD_DATA_MAX       ((size_t)16 << 20)
#define AEAD_ASSOCIATED_MAX ((size_t)1024)

/* Encrypt data with the newest key, and append the result to out. associated: usually the row's id.
 * Errors: ERR_INTERNAL (the data or the associated name is too large). */
int aead_seal(const struct keyring *ring, const void *data, size_t size, const char *associated,
              struct buffer *out, struct error **err);

/* Decrypt data, and append the plain bytes to out, which the caller wipes. Errors: ERR_INTERNAL
 * (the data is changed, cut off, or from another row, or the ring does not have its key). */
int aead_open(const struct keyring *ring, const void *sealed, size_t size, const char *associated,
              struct buffer *out, struct error **err);
