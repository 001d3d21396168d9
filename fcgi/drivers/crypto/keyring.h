/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The deployment's key ring: a file outside the database with one or more 32-byte master keys,
 * each with an id, newest last. New data uses the newest key; old data names the key that made it.
 * From each master key a subkey per purpose is derived (crypto_kdf, BLAKE2b), so that no two uses
 * share a key. Masters live in sodium_malloc() memory and are wiped on free.
 *
 * File format, one key a line: `<id> <64 hex digits>`, '#' comments. ids are 1..65535. With `next`
 * behind it a key is known and not used yet.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"

struct keyring;

enum key_purpose {
    KEY_PURPOSE_SEALED = 1,  /* environment and stored replies at rest */
    KEY_PURPOSE_API_KEY,     /* keyed hashes of API-key secrets */
    KEY_PURPOSE_SESSION,     /* MAC of session tokens */
    KEY_PURPOSE_AGENT,       /* secrets of the agents in the sandboxes */
    KEY_PURPOSE_PAGE_TOKEN,  /* MAC of continuation tokens */
    KEY_PURPOSE_IDEMPOTENCY, /* fingerprints of request bodies */
    KEY_PURPOSE_LOGIN,       /* keyed hashes of sign-ins, invites and recovery codes */
    KEY_PURPOSE_SSH,         /* MAC of the tokens of SSH sessions */
    KEY_PURPOSE_AUDIT,       /* MAC of the rows of the audit log, and its chain */
    KEY_PURPOSE_VOLUME,      /* MAC of the tokens of volumes */
    KEY_PURPOSE_FINGERPRINT, /* by which fronts see whether they have the same key */
    KEY_PURPOSE_ARCHIVE,     /* copies of sandboxes in the archive */
};

/* Read the file (refused unless only its owner and group can read it; not world-readable). Errors:
 * ERR_CONFIG naming the line, never its contents. */
int keyring_load(const char *path, struct keyring **ring, struct error **err);
void keyring_free(struct keyring *ring);

/* Write a new file (0600, never over an existing one) with one random key, id 1. */
int keyring_create(const char *path, struct error **err);

/* Append a fresh random key with the next id; replaces the file atomically. */
int keyring_rotate(const char *path, struct error **err);

/* Do the same in two steps, for several machines that have the file: a key that all are to know,
 * and its use. Errors: also when there is one that waits to be used, or none. */
int keyring_add(const char *path, struct error **err);
int keyring_use(const char *path, struct error **err);

/* Remove a key that is neither the newest in use nor waits to be used. Errors: also when the file
 * has no such key. */
int keyring_drop(const char *path, uint16_t key_id, struct error **err);

/* Read the text of the file for a backup, into an empty buffer with a maximum of 64 KiB or more.
 * The file must be a complete key ring. The caller wipes the buffer. */
int keyring_read_text(const char *path, struct buffer *text, struct error **err);

/* Make such a text the key file at path. It gets the owner and mode of the present file, which
 * stays as PATH.before. Without a present file, our user is the owner. The same text changes
 * nothing. *replaced: there was another file. Errors: ERR_CONFIG. */
int keyring_put_text(const char *path, const struct buffer *text, bool *replaced,
                     struct error **err);

/* Return the newest of the keys in use. */
uint16_t keyring_newest(const struct keyring *ring);

struct keyring_key {
    uint16_t id;
    bool in_use;
};
/* Return the key at an index from 0; false: there are no more. */
bool keyring_key_at(const struct keyring *ring, size_t index, struct keyring_key *key);

#define KEYRING_SUBKEY_BYTES 32

/* Derive the subkey of a key for a purpose; the caller wipes it. ERR_CONFIG when the ring has no
 * such key. */
int keyring_subkey(const struct keyring *ring, uint16_t key_id, enum key_purpose purpose,
                   unsigned char out[KEYRING_SUBKEY_BYTES], struct error **err);
