/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The deployment's key ring: a file outside the database with one or more 32-byte master keys,
 * each with an id, newest last. New data uses the newest key; old data names the key that made it.
 * From each master key a subkey per purpose is derived (crypto_kdf, BLAKE2b), so that no two uses
 * share a key. Masters live in sodium_malloc() memory and are wiped on free.
 *
 * File format, one key a line: `<id> <64 hex digits>`, '#' comments. ids are 1..65535.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct keyring;

enum key_purpose {
    KEY_PURPOSE_SEALED = 1,  /* environment and stored replies at rest */
    KEY_PURPOSE_API_KEY,     /* keyed hashes of API-key secrets */
    KEY_PURPOSE_SESSION,     /* MAC of session tokens */
    KEY_PURPOSE_AGENT,       /* secrets of the agents in the sandboxes */
    KEY_PURPOSE_PAGE_TOKEN,  /* MAC of continuation tokens */
    KEY_PURPOSE_IDEMPOTENCY, /* fingerprints of request bodies */
};

/* Reads the file (refused unless only its owner and group can read it; not world-readable).
 * Errors: ERR_CONFIG naming the line, never its contents. */
int keyring_load(const char *path, struct keyring **ring, struct error **err);
void keyring_free(struct keyring *ring);

/* Write a new file (0600, never over an existing one) with one random key, id 1. */
int keyring_create(const char *path, struct error **err);

/* Append a fresh random key with the next id; replaces the file atomically. */
int keyring_rotate(const char *path, struct error **err);

uint16_t keyring_newest(const struct keyring *ring);

#define KEYRING_SUBKEY_BYTES 32

/* Derive the subkey of a key for a purpose; the caller wipes it. ERR_CONFIG when the ring has no
 * such key. */
int keyring_subkey(const struct keyring *ring, uint16_t key_id, enum key_purpose purpose,
                   unsigned char out[KEYRING_SUBKEY_BYTES], struct error **err);
