/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Read and change the deployment's key ring: a file outside the database with one or more 32-byte
 * master keys, each with an id, newest last. New data uses the newest key; old data names the key
 * that made it. Each purpose has its own subkey of a master key (crypto_kdf, BLAKE2b). Master keys
 * are in memory of sodium_malloc(), and are wiped when freed.
 *
 * Each line of the file is a key, `<id> <64 hex digits>`, or a comment that begins with '#'. Ids
 * are 1 to 65535. The word `next` after a key says that it is not used yet.
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
    KEY_PURPOSE_FINGERPRINT, /* fronts compare it to check that they have the same key */
    KEY_PURPOSE_ARCHIVE,     /* copies of sandboxes in the archive */
};

/* Read the file. Only its owner and group may have rights to it, and the group may not write it.
 * Errors: ERR_CONFIG; the message names the line, never its contents. */
int keyring_load(const char *path, struct keyring **ring, struct error **err);
void keyring_free(struct keyring *ring);

/* Write a new file (mode 0600) with one random key, with id 1. Errors: ERR_CONFIG, also when the
 * file exists. All functions below have this error. */
int keyring_create(const char *path, struct error **err);

/* Append a new random key with the next id, and replace the file atomically. Errors: also when a
 * key is not in use yet, or the ring is full. */
int keyring_rotate(const char *path, struct error **err);

/* Do the same in two steps, when several machines have the file: add a key that is not used yet,
 * and use it when all machines have it. Errors: also when there already is such a key, or
 * keyring_use() finds none. */
int keyring_add(const char *path, struct error **err);
int keyring_use(const char *path, struct error **err);

/* Remove a key that is older than the newest key in use. Errors: also when the file has no such
 * key. */
int keyring_drop(const char *path, uint16_t key_id, struct error **err);

/* Read the text of the file for a backup, into an empty buffer with a maximum of 64 KiB or more.
 * The file must be a complete key ring. The caller wipes the buffer. */
int keyring_read_text(const char *path, struct buffer *text, struct error **err);

/* Write such a text to the key file at path. The file keeps its owner and mode, and the previous
 * file stays as PATH.before. A new file belongs to the user of this process. The same text changes
 * nothing. *replaced: the file had another text. */
int keyring_put_text(const char *path, const struct buffer *text, bool *replaced,
                     struct error **err);

/* Return the id of the newest key in use. */
uint16_t keyring_newest(const struct keyring *ring);

struct keyring_key {
    uint16_t id;
    bool in_use;
};
/* Return the key at an index from 0; false: there are no more. */
bool keyring_key_at(const struct keyring *ring, size_t index, struct keyring_key *key);

#define KEYRING_SUBKEY_BYTES 32

/* Derive the subkey of a key for a purpose; the caller wipes it. Errors: ERR_CONFIG (the ring has
 * no such key). */
int keyring_subkey(const struct keyring *ring, uint16_t key_id, enum key_purpose purpose,
                   unsigned char out[KEYRING_SUBKEY_BYTES], struct error **err);
