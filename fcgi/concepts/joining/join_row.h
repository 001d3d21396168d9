/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rows of host_joins: for join*.c. */
#pragma once

#include "base/buffer.h"
#include "db/lease.h"
#include "joining/join.h"

struct join_row {
    struct join join;
    struct secret_hash kept;
    unsigned char machine[MAC_BYTES]; /* of the secret of who has taken it */
    struct buffer sealed;
};
void join_row_deinit(struct join_row *row);
#define join_row_auto __attribute__((cleanup(join_row_deinit))) struct join_row

/* In a transaction: the row, locked; *found false: there is none. */
int join_row_lock(struct db *db, const char *id, struct join_row *row, bool *found,
                  struct error **err);
/* The same without a lock and without what is secret. */
int join_row_get(struct db *db, const char *id, struct join *join, bool *found, struct error **err);
int join_row_put(struct db *db, const struct join *join, const struct secret_hash *kept,
                 const struct buffer *sealed, struct error **err);
int join_row_take(struct db *db, const struct join *join, const unsigned char machine[MAC_BYTES],
                  struct error **err);
/* taken → trial, due at once; any other state stays. */
int join_row_offer(struct db *db, const char *id, struct error **err);

/* --- trials --- */

/* Take one whose turn it is, for lease_s; id "": none. In a transaction of its own. */
int join_row_next(struct db *db, const char *lease_owner, uint64_t lease_s, char id[ID_SIZE],
                  struct error **err);
void join_row_keep(struct db *db, const char *id, const char *lease_owner, uint64_t lease_s,
                   struct lease *lease);
/* It is tried again in delay_ms. */
int join_row_fail(struct db *db, const char *id, const char *lease_owner, const char *failure,
                  uint64_t delay_ms, struct error **err);
/* In a transaction: trial → active; what was sealed goes. */
int join_row_done(struct db *db, const char *id, struct error **err);
/* Whether a host's trial has this id. */
int join_row_is_tried(struct db *db, const char *id, bool *is_tried, struct error **err);

/* Hosts that answer and have the source of a version, at most a few. */
#define JOIN_ORIGINS_MAX 4
int join_row_origins(struct db *db, const char *version_id, uint32_t host_ids[JOIN_ORIGINS_MAX],
                     unsigned *count, struct error **err);
