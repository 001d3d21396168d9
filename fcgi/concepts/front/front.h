/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Several machines with the control plane of one deployment, its fronts. They share the database
 * and must have the same key ring and some of the same settings; the database remembers what lets
 * each of them see that it has.
 */
#pragma once

#include <jansson.h>

#include "config/settings.h"
#include "crypto/keyring.h"
#include "db/db.h"

/* How this key ring and that of the deployment agree. */
struct front_ring {
    uint16_t other;  /* under this id the deployment knows another key; 0: none */
    uint16_t lacks;  /* it has this key in use, and the ring does not have it; 0: none */
    uint16_t to_add; /* likewise, of one that is not in use yet */
};

/* Compare. Errors: those of the database. */
int front_ring_compare(struct db *db, const struct keyring *ring, struct front_ring *found,
                       struct error **err);

/* At the start of whatever seals: keys that the deployment does not know yet are remembered.
 * Errors: ERR_CONFIG for another key under an id that it knows; nothing else keeps a program from
 * its start. */
int front_ring_check(struct db *db, const struct keyring *ring, struct error **err);

/* Let go of a key: nothing needs it any more, or it is lost. *forgotten: it was known. */
int front_ring_forget(struct db *db, uint16_t key_id, bool *forgotten, struct error **err);

/* Say that this front is there, and with which settings. Drops those that were not for long. */
int front_note(struct db *db, const struct settings *settings, struct error **err);

/* How a front that is there differs from this one. */
struct front_difference {
    char front[65];
    const char *setting; /* static */
    char *here, *there;  /* what each of them has */
};
void front_differences_free(struct front_difference *list, unsigned count);

/* Compare the settings of this front with those of the others; for front_differences_free().
 * *fronts: how many others there are. */
int front_compare(struct db *db, const struct settings *settings, struct front_difference **list,
                  unsigned *count, unsigned *fronts, struct error **err);
