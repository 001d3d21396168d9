/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rows of keyring_keys and fronts; for this folder. */
#pragma once

#include "crypto/mac.h"
#include "front/front.h"

struct front_key {
    uint16_t id;
    bool in_use;
    int64_t added_at_ms; /* only after front_row_keys() */
    unsigned char fingerprint[MAC_BYTES];
};

/* List all keys of the deployment; the caller frees the array. */
int front_row_keys(struct db *db, struct front_key **keys, unsigned *count, struct error **err);
/* Store a key. A known key under this id stays; it is marked as in use if either is. */
int front_row_add_key(struct db *db, const struct front_key *key, struct error **err);

/* Store the settings of a front node that runs now, and delete the nodes that were not seen for a
 * day. */
int front_row_put(struct db *db, const char *name, const char *settings, struct error **err);

struct front_row {
    char name[65];
    json_t *settings;
};
/* List the front nodes that were seen lately. The caller frees the array and releases the
 * settings. */
int front_row_list(struct db *db, struct front_row **fronts, unsigned *count, struct error **err);
