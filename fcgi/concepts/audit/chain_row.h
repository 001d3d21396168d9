/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The SQL of chain.c; for this folder. */
#pragma once

#include "audit/chain.h"

/* A link as the table has it. */
struct chain_row {
    uint64_t seq;
    char audit_id[ID_SIZE];
    char team_id[ID_SIZE];
    int64_t at_ms; /* of its row */
    unsigned char row_mac[MAC_BYTES];
    uint16_t key_id;
    unsigned char hash[MAC_BYTES];
};

/* A link with its row, if the row still exists. */
struct chain_look {
    struct chain_row link;
    bool has_row;
    struct audit_entry entry;
    uint16_t mac_key_id;
    unsigned char mac[MAC_BYTES];
};

/* Read the newest link. seq 0: the chain is empty. */
int chain_row_last(struct db *db, struct chain_row *link, struct error **err);
int chain_row_insert(struct db *db, const struct chain_row *link, struct error **err);

/* List rows without a link from an id, oldest first. Only the members that a link contains are set.
 * The caller frees the array. */
int chain_row_waiting(struct db *db, const char *from_id, unsigned limit, struct chain_row **rows,
                      unsigned *count, struct error **err);
int chain_row_count_waiting(struct db *db, uint64_t *count, struct error **err);

/* List links after seq, in order; the caller frees the array. */
int chain_row_page(struct db *db, uint64_t behind_seq, unsigned limit, struct chain_look **looks,
                   unsigned *count, struct error **err);

/* Read the time up to which retention has recorded that it removes a team's rows; 0: never. */
int chain_row_pruned_before(struct db *db, const char *team_id, int64_t *before_ms,
                            struct error **err);

/* Check whether a row audit.trim with this resource exists. */
int chain_row_is_trimmed(struct db *db, const char *resource, bool *is_trimmed, struct error **err);
