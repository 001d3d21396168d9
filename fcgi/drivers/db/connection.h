/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by the files of db/; no other file includes this. */
#pragma once

#include <stdint.h>

#include "db/db.h"
#include "db/mysql_compat.h"

struct prepared {
    const struct db_statement *statement; /* the key: its address */
    MYSQL_STMT *handle;
};

enum db_transaction_state {
    DB_OUTSIDE,
    DB_INSIDE,
    DB_DEADLOCKED, /* inside, but a statement failed with a conflict: it can only be rolled back */
    DB_CUT,        /* inside, but the connection was lost */
};

struct db {
    struct db_options options; /* own copies */
    unsigned timeout_s;
    MYSQL *mysql;        /* NULL: not connected */
    char *server;        /* the host tried last; NULL: a socket */
    int64_t checked_ms;  /* monotonic: when one of several servers was last asked for its role */
    bool writer_is_open; /* a node of Galera is ready, but no node that answers is the writer */
    struct prepared *prepared;
    size_t prepared_count, prepared_capacity;
    int64_t last_used_ms;  /* monotonic */
    int64_t not_before_ms; /* likewise: no new attempt before, after one that timed out */
    enum db_transaction_state transaction;
    const struct db_companion *companion; /* NULL: none waits */
    bool companion_is_due;      /* the current transaction has made the write of the companion */
    void (*after_commit)(void); /* of the current transaction; NULL: nothing */
    bool pinned; /* the connection has state (a lock) that must not be lost silently */
};

/* Make sure that a connection exists that was alive a moment ago. Connect at most once, and not
 * directly after a server has not answered in time. Inside a transaction, and while pinned, it only
 * checks. Errors: ERR_DB_UNAVAILABLE, ERR_DB_DEADLOCK. */
int db_connection_ready(struct db *db, struct error **err);

/* Return whether the server has closed the connection. Sends nothing. */
bool db_connection_closed_by_peer(struct db *db);

/* Drop the connection and all its prepared statements; a transaction becomes DB_CUT. */
void db_connection_drop(struct db *db);

/* Connect to server, or the socket, within connect_s. The caller closes the connection. NULL:
 * ERR_DB_UNAVAILABLE. */
MYSQL *db_connect_raw(const struct db *db, const char *server, unsigned connect_s,
                      unsigned answer_s, struct error **err);

/* Return the next name of a list with commas, which the caller frees; NULL at the end. */
char *db_next_host(const char **at);

/* Drop the connection, and connect with another limit for one statement. Errors:
 * ERR_DB_UNAVAILABLE. */
int db_connection_reopen(struct db *db, unsigned timeout_s, struct error **err);

/* Run one SQL text without arguments on the open connection, and discard its result. Errors: as
 * db_server_error(). */
int db_say(struct db *db, const char *sql, size_t length, struct error **err);

/* Translate an error of the library or the server. `what`: name of the statement. Always returns
 * -1. Errors: ERR_DB_DUPLICATE, ERR_DB_FULL, ERR_NOT_FOUND (see db_text()), ERR_INTERNAL, and:
 *
 * - ERR_DB_DEADLOCK: a transaction becomes DB_DEADLOCKED.
 * - ERR_DB_UNAVAILABLE: the connection cannot be used any more and is dropped (db->mysql is then
 *   NULL), or the server has interrupted the statement. The caller decides whether this means
 *   ERR_OUTCOME_UNKNOWN. */
int db_server_error(struct db *db, const char *what, unsigned code, const char *message,
                    struct error **err);

/* Return whether an error of the server means that the statement was rolled back at once because
 * of a conflict. It can be repeated. */
bool db_is_conflict(unsigned code, const char *message);

/* Return whether a write may have happened although the server or the library returned this
 * error. */
bool db_is_uncertain(unsigned code, const char *message);

/* --- transaction.c --- */

#define DB_RUNS_MAX 8 /* of a statement that loses against others */

/* Wait for a random time before the next run. The time grows with run, which is 1 after the first
 * run. */
void db_pause_after(unsigned run);

/* --- rows.c --- */

/* Fetch the rows of a statement that was executed: all, or with bytes_max above 0 the first rows,
 * until their texts have this size. The caller frees *rows. When -1 is returned without *err, the
 * library's error is still in handle. Errors: ERR_INTERNAL (the result is too large). */
int db_rows_fetch(MYSQL_STMT *handle, const struct db_statement *statement, size_t bytes_max,
                  struct db_rows **rows, struct error **err);

/* --- lease.c --- */

/* Note the end of a transaction, with its failure (NULL: none). After a failure, the row that it
 * took is due as before. Let this row rest, so that one that fails each time hides no other. */
void lease_transaction_ended(const struct error *failure);
