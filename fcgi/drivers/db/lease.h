/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Leases: a row belongs to one worker until the time in the row; then the first worker that asks
 * takes it. So the work of a dead worker continues, and no worker has to announce its end.
 *
 * A table of rows with leases is described once, by literals:
 *
 *   static const struct lease_table removals =
 *       LEASE_TABLE("things", "id", "lease_until_ms", "state = 'deleting'");
 *
 * The last argument selects the rows that can be leased. With a column `lease_owner`, and
 * `attempts` for the number of leases, use LEASE_TABLE_OWNED(): lease_renew() then fails for a
 * former owner. Add the statements to the list of statements of the concept.
 *
 * For rows of tenants, use LEASE_TEAMS() and LEASE_TEAMS_OWNED(), with the team of a row as one
 * more argument. Then teams take turns in each process. A team with a hundred rows delays another
 * team by one row. A process that has read 256 due rows or more does not read the table again for
 * up to a second. A new row waits for that time. A row whose transaction failed is passed over for
 * a second, and for twice as long after each further failure, up to a minute.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "db/db.h"

#define LEASE_KEY_SIZE   64 /* of the longest key */
#define LEASE_OWNER_SIZE 65

/* Make a name for this process as an owner. No other process has the same name. For operators, it
 * has the program, the machine and the process id. */
void lease_name_owner(char owner[LEASE_OWNER_SIZE], const char *program);

struct lease_table {
    struct db_statement due, take, renew;
    struct db_statement line; /* the first rows of each team; no text: teams take no turns */
    bool has_owner;
};

#define LEASE_DUE_(columns, table, until, rows)                           \
    "SELECT " columns " FROM " table " WHERE " rows " AND " until " <= ?" \
    " ORDER BY " until " LIMIT 1 FOR UPDATE SKIP LOCKED"

#define LEASE_CHANGES_(name, table, key, until, rows)                               \
    .take = {name ".take", "UPDATE " table " SET " until " = ? WHERE " key " = ?"}, \
    .renew = {name ".renew", "UPDATE " table " SET " until " = ? WHERE " key " = ? AND " rows}
#define LEASE_CHANGES_OWNED_(name, table, key, until, rows)                                     \
    .take = {name ".take", "UPDATE " table " SET " until                                        \
                           " = ?, lease_owner = ?, attempts = attempts + 1 WHERE " key " = ?"}, \
    .renew = {name ".renew", "UPDATE " table " SET " until " = ? WHERE " key                    \
                             " = ? AND lease_owner = ? AND " rows},                             \
    .has_owner = true

#define LEASE_TABLE(table, key, until, rows)                        \
    {                                                               \
        .due = {table ".due", LEASE_DUE_(key, table, until, rows)}, \
        LEASE_CHANGES_(table, table, key, until, rows),             \
    }

#define LEASE_TABLE_OWNED(table, key, until, rows) \
    LEASE_TABLE_OWNED_AS(table, table, key, until, rows)

/* Describe one of several kinds of leases of the same table. name: of its statements. */
#define LEASE_TABLE_OWNED_AS(name, table, key, until, rows)                     \
    {                                                                           \
        .due = {name ".due", LEASE_DUE_(key ", attempts", table, until, rows)}, \
        LEASE_CHANGES_OWNED_(name, table, key, until, rows),                    \
    }

/* Describe the rows of tenants. team: an expression over a row; a row may have lost its team
 * (NULL).
 *
 * The first statement locks nothing, so that processes do not hide rows from each other; the second
 * one locks the chosen row. The first statement reads several rows of a team, because other
 * processes may have its first ones. */
#define LEASE_LINE_MAX 1000
#define LEASE_TEXT_(x) #x
#define LEASE_TEXT(x)  LEASE_TEXT_(x)
#define LEASE_LINE_(table, key, until, rows, team, user)                                     \
    "SELECT l.due_key, l.team, l.place, l.user FROM (SELECT CONCAT(" key ", '') AS due_key," \
    " COALESCE(" team ", '') AS team, COALESCE(" user ", '') AS user, " until                \
    " AS due_ms, ROW_NUMBER() OVER (PARTITION BY " team " ORDER BY " until ") AS place"      \
    " FROM " table " WHERE " rows " AND " until                                              \
    " <= ?) l ORDER BY l.place, l.due_ms LIMIT " LEASE_TEXT(LEASE_LINE_MAX)
#define LEASE_ONE_(columns, table, key, until, rows)                              \
    "SELECT " columns " FROM " table " WHERE " key " = ? AND " rows " AND " until \
    " <= ? FOR UPDATE SKIP LOCKED"

#define LEASE_TEAMS(name, table, key, until, rows, team)                          \
    {                                                                             \
        .line = {name ".line", LEASE_LINE_(table, key, until, rows, team, "''")}, \
        .due = {name ".due", LEASE_ONE_(key, table, key, until, rows)},           \
        LEASE_CHANGES_(name, table, key, until, rows),                            \
    }

#define LEASE_TEAMS_OWNED(name, table, key, until, rows, team) \
    LEASE_TENANTS_OWNED(name, table, key, until, rows, team, "''")

/* Do the same as LEASE_TEAMS_OWNED(), with the user of a row, for the board (db/lease_board.h). */
#define LEASE_TENANTS_OWNED(name, table, key, until, rows, team, user)               \
    {                                                                                \
        .line = {name ".line", LEASE_LINE_(table, key, until, rows, team, user)},    \
        .due = {name ".due", LEASE_ONE_(key ", attempts", table, key, until, rows)}, \
        LEASE_CHANGES_OWNED_(name, table, key, until, rows),                         \
    }

/* Inside a transaction: take a free row for lease_ms. It is the row that has been free for
 * longest, of the team with the earliest last turn in this process. If no row is free, key is "".
 * *attempts: how often the row was taken, this time included. For a table without owner and
 * attempts, both may be NULL. */
int lease_take(struct db *db, const struct lease_table *table, const char *owner, uint64_t lease_ms,
               char key[LEASE_KEY_SIZE], unsigned *attempts, struct error **err);

/* Do the same, but only lock the row. The caller then changes the row so that it is no longer
 * due. */
int lease_lock(struct db *db, const struct lease_table *table, char key[LEASE_KEY_SIZE],
               struct error **err);

/* Renew the lease of a row for lease_ms from now. owner: ignored for a table without owners.
 * Errors: ERR_LEASE_LOST (the row has another owner, or can no longer be leased), and those of
 * db_exec(). */
int lease_renew(struct db *db, const struct lease_table *table, const char *key, const char *owner,
                uint64_t lease_ms, struct error **err);

/* Release a row: another worker may take it after delay_ms. Does nothing if the row has another
 * owner. */
int lease_defer(struct db *db, const struct lease_table *table, const char *key, const char *owner,
                uint64_t delay_ms, struct error **err);

/* --- a lease that is renewed while its owner works --- */

struct lease {
    struct db *db;
    const struct lease_table *table;
    char key[LEASE_KEY_SIZE], owner[LEASE_OWNER_SIZE];
    uint64_t lease_ms;
    int64_t renew_at_ms, lost_at_ms; /* monotonic */
};

/* Start to renew a lease that was taken just now. db and table are borrowed. */
void lease_keep(struct lease *lease, struct db *db, const struct lease_table *table,
                const char *key, const char *owner, uint64_t lease_ms);

/* Renew the lease when a quarter of its time is over; call this often. When the database does not
 * answer, the lease stays valid until its time is over. Errors: ERR_LEASE_LOST. */
int lease_tick(struct lease *lease, struct error **err);

/* Renew the lease now, before an act that would harm the next owner. Otherwise like
 * lease_tick(). */
int lease_check(struct lease *lease, struct error **err);
