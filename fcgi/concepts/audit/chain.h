/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The chain over the audit log: a link a row, in the order in which a dispatcher found the rows to
 * be committed, with a keyed hash over the link before it and the MAC of its row. Acts wait for
 * none of it. Whoever changes, removes or puts in a row afterwards breaks the chain there, unless
 * the key ring is theirs too; whoever has both still cannot agree with the anchors that were logged
 * before.
 *
 * What retention removes is said by rows of the log itself (audit.prune: the rows of a team before
 * a time; audit.trim: links, all of whose rows were pruned).
 */
#pragma once

#include "audit/audit.h"
#include "crypto/mac.h"

/* A row is in the chain that long after it was written, whichever host's clock its time is of. */
#define AUDIT_CHAIN_LATE_MS 600000

struct audit_link {
    uint64_t seq; /* from 1; 0: none yet */
    int64_t at_ms;
    char hash[2 * MAC_BYTES + 1]; /* in hexadecimal */
};

/* Bind some of the rows that are not yet. *last: the newest link; *more: there may be others left.
 * Another dispatcher may be at it: then nothing is done. */
int audit_chain_extend(struct db *db, const struct keyring *ring, struct audit_link *last,
                       bool *more, struct error **err);

struct audit_check {
    uint64_t links, rows; /* that were looked at */
    uint64_t pruned;      /* links whose rows retention has removed */
    uint64_t waiting;     /* rows that are in no link yet */
    struct audit_link last;
    char problem[512]; /* the first that was found; "": none */
};

/* Read all of it and say the first row that is not as it was written. anchor_seq, anchor_hash: of a
 * link as it was logged (0, NULL: none). Errors: only those of the database and the key ring. */
int audit_chain_verify(struct db *db, const struct keyring *ring, uint64_t anchor_seq,
                       const char *anchor_hash, struct audit_check *check, struct error **err);

/* Let go of what the plans of the teams do not keep; what is no team's, or of one that is gone, is
 * kept as long as by the plan that keeps longest. *removed: rows. */
int audit_retain(struct db *db, const struct keyring *ring, uint64_t *removed, struct error **err);
