/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The SQL of chain.c; for this folder. */
#pragma once

#include "audit/chain.h"

/* A link as it is kept. */
struct chain_row {
    uint64_t seq;
    char audit_id[ID_SIZE];
    char team_id[ID_SIZE];
    int64_t at_ms; /* of its row */
    unsigned char row_mac[MAC_BYTES];
    uint16_t key_id;
    unsigned char hash[MAC_BYTES];
};

/* With what is there of its row. */
struct chain_look {
    struct chain_row link;
    bool has_row;
    struct audit_entry entry;
    uint16_t mac_key_id;
    unsigned char mac[MAC_BYTES];
};

/* seq 0: there is none. */
int chain_row_last(struct db *db, struct chain_row *link, struct error **err);
int chain_row_insert(struct db *db, const struct chain_row *link, struct error **err);

/* Rows that are in no link, oldest first, from an id on; only what a link says of them is set. The
 * caller frees the array. */
int chain_row_waiting(struct db *db, const char *from_id, unsigned limit, struct chain_row **rows,
                      unsigned *count, struct error **err);
int chain_row_count_waiting(struct db *db, uint64_t *count, struct error **err);

/* Links behind seq, in order; the caller frees the array. */
int chain_row_page(struct db *db, uint64_t behind_seq, unsigned limit, struct chain_look **looks,
                   unsigned *count, struct error **err);

/* Up to when retention has said that it removes a team's rows; 0: never. */
int chain_row_pruned_before(struct db *db, const char *team_id, int64_t *before_ms,
                            struct error **err);

/* Whether there is a row audit.trim with that resource. */
int chain_row_is_trimmed(struct db *db, const char *resource, bool *is_trimmed, struct error **err);
