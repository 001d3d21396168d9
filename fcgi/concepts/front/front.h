/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The front nodes: machines with the control plane of one deployment. They share the database, and
 * must have the same key ring and the same values of some settings. The database holds the facts by
 * which each front node can check this.
 */
#pragma once

#include <jansson.h>

#include "config/settings.h"
#include "crypto/keyring.h"
#include "db/db.h"

/* The differences between this key ring and the deployment's. */
struct front_ring {
    uint16_t other;       /* the id of a key that differs from the deployment's key with this id; 0:
                           * none */
    uint16_t lacks;       /* a key that the deployment uses and this ring lacks; 0: none */
    int64_t newest_at_ms; /* since when the deployment knows its newest key; 0: it has none */
    unsigned old;         /* further keys in use of this ring */
    uint16_t to_add; /* a key that the deployment has, but does not use yet, and this ring lacks; 0:
                      * none */
};

/* Compare the key ring with the deployment's. Errors: those of the database. */
int front_ring_compare(struct db *db, const struct keyring *ring, struct front_ring *found,
                       struct error **err);

/* Compare the key ring when a program that seals data starts, and store keys that are new to the
 * deployment. Errors: ERR_CONFIG for another key under a known id. Other failures are logged, and
 * the program starts. */
int front_ring_check(struct db *db, const struct keyring *ring, struct error **err);

/* Delete a key from the deployment's list: nothing needs it any more, or it is lost. *forgotten: it
 * was in the list. */
int front_ring_forget(struct db *db, uint16_t key_id, bool *forgotten, struct error **err);

/* Record that this front node is running, its settings, the newest key that it seals with, and the
 * last key that it has. Delete the rows of front nodes that have recorded nothing for a day. */
int front_note(struct db *db, const struct keyring *ring, const struct settings *settings,
               struct error **err);

/* Check that the programs of each running front node seal with the newest key of this ring. Errors:
 * ERR_INVALID_REQUEST, which names a front node that does not. */
int front_ring_in_use(struct db *db, const struct keyring *ring, struct error **err);

/* A running front node, of which a program lacks a key of the deployment. */
struct front_lag {
    char front[65];
    uint16_t key;
};

/* List the running front nodes that have not reported the last key of the deployment, used or not.
 * One of a previous version does not say which keys it has. The caller frees the array. */
int front_ring_lags(struct db *db, struct front_lag **list, unsigned *count, struct error **err);

/* A setting that differs on another running front node. */
struct front_difference {
    char front[65];
    const char *setting; /* static */
    char *here, *there;  /* the values on this and on the other front node */
};
void front_differences_free(struct front_difference *list, unsigned count);

/* Compare the settings of this front node with the others; for front_differences_free(). *fronts:
 * the number of others. */
int front_compare(struct db *db, const struct settings *settings, struct front_difference **list,
                  unsigned *count, unsigned *fronts, struct error **err);
