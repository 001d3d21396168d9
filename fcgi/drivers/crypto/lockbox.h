/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Encrypt bytes that leave the machine, with a passphrase (Argon2id, then XSalsa20-Poly1305) or the
 * public key of a recipient (crypto_box_seal: X25519 and XSalsa20-Poly1305). With a public key, a
 * machine can encrypt bytes that it cannot decrypt.
 */
#pragma once

#include <stddef.h>

#include "base/buffer.h"
#include "base/error.h"

/* A key of a recipient as text: 64 hexadecimal digits. */
#define LOCKBOX_KEY_SIZE 65

/* The passphrase or the key. The other one is NULL. */
struct lockbox_with {
    const char *passphrase;
    const char *key; /* the public key to encrypt, the private key to decrypt */
};

/* Encrypt data, and append the result to out. Errors: ERR_CONFIG (not a key). */
int lockbox_close(const struct lockbox_with *with, const void *data, size_t size,
                  struct buffer *out, struct error **err);

/* Decrypt data, and append the plain bytes to out, which the caller wipes. Errors: ERR_CONFIG (the
 * passphrase or key is wrong or of the other kind, or the data is changed or cut off). */
int lockbox_open(const struct lockbox_with *with, const void *data, size_t size, struct buffer *out,
                 struct error **err);

/* Create a new key pair. The caller wipes the private key. */
void lockbox_new_pair(char private_key[LOCKBOX_KEY_SIZE], char public_key[LOCKBOX_KEY_SIZE]);
