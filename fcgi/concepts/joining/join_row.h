/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rows of host_joins; for join*.c. */
#pragma once

#include "base/buffer.h"
#include "db/lease.h"
#include "joining/join.h"

struct join_row {
    struct join join;
    struct secret_hash kept;
    unsigned char machine[MAC_BYTES]; /* MAC of the secret of the machine that has taken it */
    struct buffer sealed;
};
void join_row_deinit(struct join_row *row);

/* Read and lock the row, inside a transaction. *found false: the row does not exist. */
int join_row_lock(struct db *db, const char *id, struct join_row *row, bool *found,
                  struct error **err);
/* Read the row without a lock and without its secrets. */
int join_row_get(struct db *db, const char *id, struct join *join, bool *found, struct error **err);
int join_row_put(struct db *db, const struct join *join, const struct secret_hash *kept,
                 const struct buffer *sealed, struct error **err);
int join_row_take(struct db *db, const struct join *join, const unsigned char machine[MAC_BYTES],
                  struct error **err);
/* Change a row from taken to trial, due at once; other states stay. */
int join_row_offer(struct db *db, const char *id, struct error **err);

/* --- trials --- */

/* Take a trial that is due for lease_s, in its own transaction. id "": none is due. */
int join_row_next(struct db *db, const char *lease_owner, uint64_t lease_s, char id[ID_SIZE],
                  struct error **err);
void join_row_keep(struct db *db, const char *id, const char *lease_owner, uint64_t lease_s,
                   struct lease *lease);
/* Store the error, and try again in delay_ms. */
int join_row_fail(struct db *db, const char *id, const char *lease_owner, const char *failure,
                  uint64_t delay_ms, struct error **err);
/* Change a row from trial to active, inside a transaction, and delete its sealed files. */
int join_row_done(struct db *db, const char *id, struct error **err);
/* Check whether a host's trial has this id. */
int join_row_is_tried(struct db *db, const char *id, bool *is_tried, struct error **err);
