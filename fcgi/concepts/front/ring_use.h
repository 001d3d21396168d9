/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The rows of the database that need a key of the key ring. Sealed values can be sealed again with
 * the newest key. All other values keep their key until they are deleted. These are hashes of API
 * keys, secrets of agents, MACs of audit rows, and copies in the archive.
 *
 * Tokens of sandboxes and volumes name a key too, and are in no table. A token is never older than
 * its sandbox or API key, so these are counted under their own key and all newer ones.
 */
#pragma once

#include "crypto/keyring.h"
#include "db/db.h"

/* Seal every value again that an older key has sealed. *count: the values. It can be repeated after
 * an error, which names the value. Errors: those of aead_open(), and of the database. */
int ring_reseal(struct db *db, const struct keyring *ring, uint64_t *count, struct error **err);

struct ring_use {
    const char *what; /* static, in the plural */
    uint64_t count;
};
#define RING_USES_MAX 32
/* List the objects that still need a key. *count 0: none does. Errors: those of the database. */
int ring_uses(struct db *db, uint16_t key_id, struct ring_use uses[RING_USES_MAX], unsigned *count,
              struct error **err);
