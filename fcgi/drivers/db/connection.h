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
    DB_DEADLOCKED, /* inside, but the server gave it up: only the way out is left */
    DB_CUT,        /* inside, but its connection is gone */
};

struct db {
    struct db_options options; /* own copies */
    unsigned timeout_s;
    MYSQL *mysql;        /* NULL: not connected */
    char *server;        /* the host tried last; NULL: a socket */
    int64_t checked_ms;  /* when one of several servers was last seen to take writes */
    bool writer_is_open; /* of Galera's nodes one is ready, and none that answers is the writer */
    struct prepared *prepared;
    size_t prepared_count, prepared_capacity;
    int64_t last_used_ms;  /* monotonic */
    int64_t not_before_ms; /* likewise: it was connected to in vain */
    enum db_transaction_state transaction;
    const struct db_companion *companion; /* NULL: none waits */
    bool companion_is_due;      /* the transaction in hand has made the write it goes with */
    void (*after_commit)(void); /* of the transaction in hand; NULL: nothing */
    bool pinned; /* the connection has state (a lock) that must not be lost silently */
};

/* Make sure that a connection exists that was alive a moment ago. Connect at most once, and not
 * directly after a server has not answered in time. Inside a transaction, and while pinned, it only
 * checks. Errors: ERR_DB_UNAVAILABLE, ERR_DB_DEADLOCK. */
int db_connection_ready(struct db *db, struct error **err);

/* Return whether the other side has closed: seen without a round trip, so nothing was sent to
 * it. */
bool db_connection_closed_by_peer(struct db *db);

/* Drop the connection and all its prepared statements; a transaction becomes DB_CUT. */
void db_connection_drop(struct db *db);

/* Connect to server, or the socket, within connect_s; NULL is an error. The caller closes it. */
MYSQL *db_connect_raw(const struct db *db, const char *server, unsigned connect_s,
                      unsigned answer_s, struct error **err);

/* Return the next name of a list with commas, which the caller frees; NULL at the end. */
char *db_next_host(const char **at);

/* Drop the connection and connect with another limit for one statement. */
int db_connection_reopen(struct db *db, unsigned timeout_s, struct error **err);

/* Say one SQL text without arguments and result on the connection as it is. Errors as
 * db_server_error(). */
int db_say(struct db *db, const char *sql, size_t length, struct error **err);

/* Turn an error of library or server into ours. `what`: name of the statement. A connection that
 * cannot be used any more is dropped (db->mysql is NULL then), and the code is ERR_DB_UNAVAILABLE.
 * The caller knows whether that means ERR_OUTCOME_UNKNOWN. Always returns -1. */
int db_server_error(struct db *db, const char *what, unsigned code, const char *message,
                    struct error **err);

/* Return whether it says that the statement lost against another and was rolled back, right
 * away. */
bool db_is_conflict(unsigned code, const char *message);

/* Return whether a write that it answers may have happened all the same. */
bool db_is_uncertain(unsigned code, const char *message);

/* --- transaction.c --- */

#define DB_RUNS_MAX 8 /* of a statement that loses against others */

/* Wait for a random time before the next run, which grows with the number of runs; the first is
 * 1. */
void db_pause_after(unsigned run);

/* --- rows.c --- */

/* Fetch all rows of a statement that was executed. -1 with the library's error still in handle
 * when *err is not set. */
int db_rows_fetch(MYSQL_STMT *handle, const struct db_statement *statement, size_t bytes_max,
                  struct db_rows **rows, struct error **err);

/* --- lease.c --- */

/* Note the end of a transaction, with its failure (NULL: none). After a failure, the row that it
 * took is due as before. Let this row rest, so that one that fails each time hides no other. */
void lease_transaction_ended(const struct error *failure);
