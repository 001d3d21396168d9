/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Lock bytes that leave the machine. They open with a passphrase (Argon2id, then
 * XSalsa20-Poly1305), or the private half of a recipient's key pair (crypto_box_seal: X25519 and
 * XSalsa20-Poly1305), so that a machine can lock bytes that it cannot open.
 */
#pragma once

#include <stddef.h>

#include "base/buffer.h"
#include "base/error.h"

/* A key of a recipient as text: 64 hexadecimal digits. */
#define LOCKBOX_KEY_SIZE 65

/* One is set; the other is NULL. */
struct lockbox_with {
    const char *passphrase;
    const char *key; /* the public one to lock, the private one to open */
};

/* Append the locked form of data to out. Errors: ERR_CONFIG (not a key). */
int lockbox_close(const struct lockbox_with *with, const void *data, size_t size,
                  struct buffer *out, struct error **err);

/* Append the plain bytes to out, which the caller wipes. Errors: ERR_CONFIG (not that passphrase or
 * key, locked with the other kind, changed or cut off). */
int lockbox_open(const struct lockbox_with *with, const void *data, size_t size, struct buffer *out,
                 struct error **err);

/* Create a new pair; the caller wipes the private one. */
void lockbox_new_pair(char private_key[LOCKBOX_KEY_SIZE], char public_key[LOCKBOX_KEY_SIZE]);
