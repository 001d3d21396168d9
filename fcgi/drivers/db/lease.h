/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Leases: a row is somebody's to work on until a time that stands in it; then whoever asks first
 * takes it. They are what becomes of work whose worker died, so nothing depends on a worker that
 * says that it gives up.
 *
 * A table of rows with leases is described once, by literals:
 *
 *   static const struct lease_table removals =
 *       LEASE_TABLE("things", "id", "lease_until_ms", "state = 'deleting'");
 *
 * The last argument says which rows can be leased. With a column `lease_owner`, and `attempts` that
 * counts how many took the row, it is LEASE_TABLE_OWNED(): an owner learns from lease_renew() that
 * it is the owner no more. The statements belong into the list of statements of the concept.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "db/db.h"

#define LEASE_KEY_SIZE   64 /* of the longest key */
#define LEASE_OWNER_SIZE 65

struct lease_table {
    struct db_statement due, take, renew;
    bool has_owner;
};

#define LEASE_DUE_(columns, table, until, rows)                           \
    "SELECT " columns " FROM " table " WHERE " rows " AND " until " <= ?" \
    " ORDER BY " until " LIMIT 1 FOR UPDATE SKIP LOCKED"

#define LEASE_TABLE(table, key, until, rows)                                                    \
    {                                                                                           \
        .due = {table ".due", LEASE_DUE_(key, table, until, rows), false},                      \
        .take = {table ".take", "UPDATE " table " SET " until " = ? WHERE " key " = ?", false}, \
        .renew = {table ".renew",                                                               \
                  "UPDATE " table " SET " until " = ? WHERE " key " = ? AND " rows, false},     \
    }

#define LEASE_TABLE_OWNED(table, key, until, rows) \
    LEASE_TABLE_OWNED_AS(table, table, key, until, rows)

/* One of several of the same table; name: of its statements. */
#define LEASE_TABLE_OWNED_AS(name, table, key, until, rows)                            \
    {                                                                                  \
        .due = {name ".due", LEASE_DUE_(key ", attempts", table, until, rows), false}, \
        .take = {name ".take",                                                         \
                 "UPDATE " table " SET " until                                         \
                 " = ?, lease_owner = ?, attempts = attempts + 1 WHERE " key " = ?",   \
                 false},                                                               \
        .renew = {name ".renew",                                                       \
                  "UPDATE " table " SET " until " = ? WHERE " key                      \
                  " = ? AND lease_owner = ? AND " rows,                                \
                  false},                                                              \
        .has_owner = true,                                                             \
    }

/* Inside a transaction: take the row that has been free for longest, for lease_ms. key is "" when
 * there is none. owner and attempts (how many took it, this one included) may be NULL for a table
 * without them. */
int lease_take(struct db *db, const struct lease_table *table, const char *owner, uint64_t lease_ms,
               char key[LEASE_KEY_SIZE], unsigned *attempts, struct error **err);

/* Have it for lease_ms from now. Errors: ERR_LEASE_LOST when it is not ours any more, or is none of
 * the rows that can be leased. */
int lease_renew(struct db *db, const struct lease_table *table, const char *key, const char *owner,
                uint64_t lease_ms, struct error **err);

/* Let go of it: whoever asks may take it in delay_ms. Not ours any more: success. */
int lease_defer(struct db *db, const struct lease_table *table, const char *key, const char *owner,
                uint64_t delay_ms, struct error **err);

/* --- one that is kept while its owner works --- */

struct lease {
    struct db *db;
    const struct lease_table *table;
    char key[LEASE_KEY_SIZE], owner[LEASE_OWNER_SIZE];
    uint64_t lease_ms;
    int64_t renew_at_ms, lost_at_ms; /* monotonic */
};

/* Begin to keep one that was taken just now. */
void lease_keep(struct lease *lease, struct db *db, const struct lease_table *table,
                const char *key, const char *owner, uint64_t lease_ms);

/* Renew it when a quarter of its time is over; to be called often. With the database away the lease
 * still counts, until its time is over. Errors: ERR_LEASE_LOST. */
int lease_tick(struct lease *lease, struct error **err);

/* Renew it now: before an act that would harm whoever has it after us. Errors: ERR_LEASE_LOST. */
int lease_check(struct lease *lease, struct error **err);
