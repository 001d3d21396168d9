/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The chain over the audit log. It has a link for each row, in the order in which a dispatcher
 * found the rows committed. A link has a keyed hash over the previous link and the MAC of its row.
 * Acts do not wait for the chain.
 *
 * An attacker who later changes, removes or inserts a row breaks the chain there, unless the
 * attacker also has the key ring. Even then the chain disagrees with the anchors that were logged
 * earlier.
 *
 * The log itself records what retention removes. A row audit.prune names a team and the time before
 * which its rows are removed. A row audit.trim names links whose rows are all removed.
 */
#pragma once

#include "audit/audit.h"
#include "crypto/mac.h"

/* The latest that a row enters the chain after it was written, in ms. It allows for the different
 * clocks of the hosts. */
#define AUDIT_CHAIN_LATE_MS 600000

struct audit_link {
    uint64_t seq; /* from 1; 0: no link yet */
    int64_t at_ms;
    char hash[2 * MAC_BYTES + 1]; /* in hexadecimal */
};

/* Bind a batch of rows that have no link yet. *last: the newest link. *more: there may be further
 * rows. While another dispatcher extends the chain, the call does nothing, and *last stays. */
int audit_chain_extend(struct db *db, const struct keyring *ring, struct audit_link *last,
                       bool *more, struct error **err);

struct audit_check {
    uint64_t links, rows; /* that were checked */
    uint64_t pruned;      /* links whose rows were removed by retention */
    uint64_t waiting;     /* rows without a link */
    struct audit_link last;
    char problem[512]; /* the first one; "": no problem */
};

/* Check the whole chain, and name the first row that was changed. anchor_seq, anchor_hash: a link
 * as it was logged (0, NULL: no anchor). Errors: only those of the database and the key ring. */
int audit_chain_verify(struct db *db, const struct keyring *ring, uint64_t anchor_seq,
                       const char *anchor_hash, struct audit_check *check, struct error **err);

/* Remove the rows that the plans of the teams do not keep. Rows without a team, or of a removed
 * team, are kept as long as the longest plan says. *removed: rows. *more: rows are left after
 * most_ms; 0: no limit. */
int audit_retain(struct db *db, const struct keyring *ring, unsigned most_ms, uint64_t *removed,
                 bool *more, struct error **err);
