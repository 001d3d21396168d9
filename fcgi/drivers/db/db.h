/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * MySQL and MariaDB: prepared statements with typed arguments, transactions that survive
 * deadlocks, and a clear result for writes whose answer was lost.
 *
 * SQL is literal, and stands in the *_db.c file of its concept as a DB_STATEMENT. Each connection
 * prepares it at its first use. db_check_statements() prepares all statements once, so that a wrong
 * statement never waits for its first caller.
 *
 * Connection rules: a statement outside a transaction that only reads is sent again once after a
 * reconnect. A write is never sent twice. When the connection is lost during a write, the error is
 * ERR_OUTCOME_UNKNOWN, or ERR_DB_UNAVAILABLE if the write certainly did not happen. A server whose
 * disk is full refuses writes with ERR_DB_FULL; a transaction around them must be rolled back.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"
#include "base/ulid.h"

struct db;

/* PEM files. With authorities, TCP connections are encrypted, and one authority must have signed
 * the server's certificate for the host. NULL: no file. */
struct db_tls {
    const char *ca_file;
    const char *certificate_file, *key_file; /* our client certificate */
};

struct db_options {
    const char *socket; /* unix socket; NULL: TCP to host:port */
    /* Several are separated by commas. The first one that answers and takes writes is used. */
    const char *host;
    unsigned port;
    struct db_tls tls;
    const char *name;
    const char *user;
    const char *password;
    unsigned timeout_s; /* connect, read and write */
};

/* Connect to the database (READ COMMITTED, strict mode, UTC, utf8mb4). The options are copied; the
 * password copy is wiped by db_close(). Errors: ERR_DB_UNAVAILABLE. */
int db_open(const struct db_options *options, struct db **db, struct error **err);
void db_close(struct db *db);

/* Return the path of the socket, or else the host of the connection or of the last attempt. */
const char *db_server(const struct db *db);
/* Return the cipher of the connection. NULL: the connection is not encrypted, or not open. */
const char *db_cipher(const struct db *db);

/* Close the inherited connection in a process that was forked, without a message to the server.
 * This is the only call that such a process may make with db. The memory of db is not freed. */
void db_leave(struct db *db);

struct db_statement {
    const char *name; /* for logs and errors: "sandbox.get" */
    const char *sql;
};

/* Define a statement, and enter it into the list of each program that its file is linked into:
 *     DB_STATEMENT(get_statement) = {"thing.get", "SELECT ..."};
 * The linker makes the list: it puts the entries of all files next to each other. */
#define DB_STATEMENT(name)                                       \
    static const struct db_statement name;                       \
    static const struct db_statement *const name##_entry         \
        __attribute__((used, section("db_statements"))) = &name; \
    static const struct db_statement name

/* The present time of the database server in SQL, in milliseconds. */
#define DB_NOW_MS "CAST(UNIX_TIMESTAMP(NOW(3)) * 1000 AS SIGNED)"

/* Enter statements that are parts of something else: DB_STATEMENTS(parts) = {&table[0], &table[1]}.
 */
#define DB_STATEMENTS(name) \
    static const struct db_statement *const name[] __attribute__((used, section("db_statements")))

/* Prepare each statement of this program once, and drop it again. Errors: as of db_query(); the
 * message names the wrong statement. */
int db_check_statements(struct db *db, struct error **err);

/* --- arguments --- */

enum db_type { DB_NULL, DB_I64, DB_U64, DB_TEXT, DB_BLOB };

struct db_value {
    enum db_type type;
    union {
        int64_t i64;
        uint64_t u64;
        struct {
            const void *data; /* borrowed until the call returns */
            size_t size;
        } bytes;
    };
};

struct db_value db_null(void);
struct db_value db_i64(int64_t value);
struct db_value db_u64(uint64_t value);
struct db_value db_bool(bool value);
/* Return a text as a value of a statement. NULL: SQL NULL. An ascii column cannot be compared with
 * other text: the statement fails with ERR_NOT_FOUND. A filter of a list checks the form of its
 * name first (query_name()). */
struct db_value db_text(const char *text);
/* Return the beginning of a text as a value, without a partial character: at most `most` bytes. The
 * text is not NULL. */
struct db_value db_text_cut(const char *text, size_t most);
struct db_value db_blob(const void *data, size_t size);

/* DB_ARGS(db_text(id), db_u64(n)) fills the two parameters (args, count); DB_NO_ARGS for none. */
#define DB_ARGS(...)                        \
    (const struct db_value[]){__VA_ARGS__}, \
        sizeof((const struct db_value[]){__VA_ARGS__}) / sizeof(struct db_value)
#define DB_NO_ARGS NULL, 0

/* --- running --- */

/* Run a statement without result rows. affected (may be NULL): rows matched, as with
 * CLIENT_FOUND_ROWS. Errors: ERR_DB_DUPLICATE, ERR_DB_DEADLOCK, ERR_DB_FULL, ERR_DB_UNAVAILABLE,
 * ERR_OUTCOME_UNKNOWN, ERR_NOT_FOUND (see db_text()), ERR_INTERNAL. */
int db_exec(struct db *db, const struct db_statement *statement, const struct db_value *args,
            size_t count, uint64_t *affected, struct error **err);

/* Repeat a statement that changes at most batch rows until it finds no more, for 10 s at most; a
 * later call continues. Errors: as db_exec(). */
int db_exec_all(struct db *db, const struct db_statement *statement, const struct db_value *args,
                size_t count, unsigned batch, struct error **err);

struct db_rows;

/* Run a statement with result rows, and fetch them all into memory; limit their number with LIMIT.
 * The statement only reads, because it may be sent again. The caller calls db_rows_free(). Errors:
 * ERR_DB_DEADLOCK, ERR_DB_UNAVAILABLE, ERR_NOT_FOUND (see db_text()), ERR_INTERNAL. The functions
 * below have the same errors. */
int db_query(struct db *db, const struct db_statement *statement, const struct db_value *args,
             size_t count, struct db_rows **rows, struct error **err);

/* Run a statement with result rows, as db_query(), and leave out the rows after the first bytes_max
 * bytes. The first row is always there. *cut: there may be further rows. */
int db_query_part(struct db *db, const struct db_statement *statement, const struct db_value *args,
                  size_t count, size_t bytes_max, struct db_rows **rows, bool *cut,
                  struct error **err);

/* Run a statement with at most one row, which becomes the current row. Without a row:
 * ERR_NOT_FOUND with the message `missing`. The caller frees *rows after an error too. */
int db_query_row(struct db *db, const struct db_statement *statement, const struct db_value *args,
                 size_t count, const char *missing, struct db_rows **rows, struct error **err);

/* Check whether a statement returns any row. */
int db_query_finds(struct db *db, const struct db_statement *statement, const struct db_value *args,
                   size_t count, bool *found, struct error **err);

/* Copy the text in the first column of the first row, cut to size; "" without rows. */
int db_query_text(struct db *db, const struct db_statement *statement, const struct db_value *args,
                  size_t count, char *text, size_t size, struct error **err);

/* Parse the JSON in the first column of the first row. The caller owns *json. NULL: no row, or no
 * JSON. */
int db_query_json(struct db *db, const struct db_statement *statement, const struct db_value *args,
                  size_t count, json_t **json, struct error **err);

/* Append the ids in the first column to ids, and add their number to *ids_count, up to limit in
 * total. */
int db_query_ids(struct db *db, const struct db_statement *statement, const struct db_value *args,
                 size_t count, unsigned limit, char (*ids)[ID_SIZE], unsigned *ids_count,
                 struct error **err);

bool db_rows_next(struct db_rows *rows); /* moves to the first, then the next row */
void db_rows_free(struct db_rows *rows); /* NULL is allowed */

static inline void db_rows_autofree_(struct db_rows **rows)
{
    db_rows_free(*rows);
}
#define db_rows_auto __attribute__((cleanup(db_rows_autofree_))) struct db_rows

size_t db_rows_size(const struct db_rows *rows); /* bytes of all texts */
/* Allocate an array with a zeroed element for each row; the caller frees it. NULL: no rows. */
void *db_rows_array(const struct db_rows *rows, size_t element_size);

/* Run a query, and make a list of its rows: read(rows, &element) fills an element, which is zeroed
 * before. args is DB_ARGS(…) or DB_NO_ARGS. The caller frees *list, which is NULL without rows and
 * after an error. */
#define DB_LIST(db, statement, args, read, list, count, err)      \
    ({                                                            \
        db_rows_auto *rows_ = NULL;                               \
        *(list) = NULL;                                           \
        *(count) = 0;                                             \
        int result_ = db_query(db, statement, args, &rows_, err); \
        if (result_ == 0)                                         \
            *(list) = db_rows_array(rows_, sizeof **(list));      \
        while (result_ == 0 && db_rows_next(rows_))               \
            read(rows_, &(*(list))[(*(count))++]);                \
        result_;                                                  \
    })

/* Run db_query_row(), and read the row with read(rows, row). args is DB_ARGS(…) or DB_NO_ARGS. */
#define DB_ROW(db, statement, args, missing, read, row, err)                   \
    ({                                                                         \
        db_rows_auto *rows_ = NULL;                                            \
        int result_ = db_query_row(db, statement, args, missing, &rows_, err); \
        if (result_ == 0)                                                      \
            read(rows_, row);                                                  \
        result_;                                                               \
    })

/* Run a query, and read its first row with read(rows, row). Without a row, *found is false. args
 * is DB_ARGS(…) or DB_NO_ARGS. */
#define DB_FIND(db, statement, args, read, row, found, err)       \
    ({                                                            \
        db_rows_auto *rows_ = NULL;                               \
        int result_ = db_query(db, statement, args, &rows_, err); \
        if (result_ >= 0 && (*(found) = db_rows_next(rows_)))     \
            read(rows_, row);                                     \
        result_;                                                  \
    })

/* Run a query, and read the number in the first column of its first row into *number, of any
 * integer type; 0 without rows. args is DB_ARGS(…) or DB_NO_ARGS. */
#define DB_NUMBER(db, statement, args, number, err)                                            \
    ({                                                                                         \
        db_rows_auto *rows_ = NULL;                                                            \
        int result_ = db_query(db, statement, args, &rows_, err);                              \
        if (result_ >= 0)                                                                      \
            *(number) = db_rows_next(rows_) ? (__typeof__(*(number)))db_get_u64(rows_, 0) : 0; \
        result_;                                                                               \
    })

/* Read a column of the current row; the first column is 0. A column of another type aborts the
 * process: the statement is wrong. NULL is read as 0, "" or an empty blob; call db_is_null() where
 * the difference matters. Texts are borrowed until db_rows_free(). */
bool db_is_null(const struct db_rows *rows, unsigned column);
int64_t db_get_i64(const struct db_rows *rows, unsigned column);
uint64_t db_get_u64(const struct db_rows *rows, unsigned column);
bool db_get_bool(const struct db_rows *rows, unsigned column);
const char *db_get_text(const struct db_rows *rows, unsigned column);
/* Return the index of a column's text in names. Any other text aborts the process. */
unsigned db_get_name(const struct db_rows *rows, unsigned column, const char *const names[],
                     unsigned count);
/* Copy a column's text into an array that has room for the longest value of the column. */
#define db_copy_text(array, rows, column) \
    snprintf((array), sizeof(array), "%s", db_get_text((rows), (column)))
const void *db_get_blob(const struct db_rows *rows, unsigned column, size_t *size);

/* --- transactions --- */

/* Run body between START TRANSACTION and COMMIT. If body returns -1, roll back and return its
 * error. After ERR_DB_DEADLOCK, roll back and run body again, up to 8 times with growing random
 * pauses, but not after the time limit of one statement. So body must leave nothing in *context
 * that a second run does not overwrite. A connection lost before COMMIT is ERR_DB_UNAVAILABLE
 * (nothing happened). A connection lost in COMMIT, or a full disk there, is ERR_OUTCOME_UNKNOWN.
 * Transactions do not nest. */
int db_transaction(struct db *db, int (*body)(struct db *db, void *context, struct error **err),
                   void *context, struct error **err);

/* Set the function that is called after the commit of the current transaction, in place of any
 * previous one. */
void db_after_commit(struct db *db, void (*call)(void));

bool db_in_transaction(const struct db *db);

/* --- companions of a write --- */

/* Rows that belong to the next write, in the same transaction. The function write() runs before the
 * commit of the first transaction in which a statement with counts() has changed a row. A statement
 * with counts() outside a transaction runs in one of its own. The commit ends the companion; until
 * then write() may run again, like the body of a transaction. */
struct db_companion {
    bool (*counts)(const struct db_statement *statement, void *context);
    int (*write)(struct db *db, void *context, struct error **err);
    void *context;
};

/* Set the companion. It is borrowed until its commit, or until it is removed with NULL. */
void db_accompany(struct db *db, const struct db_companion *companion);

/* Return whether a companion still waits for its commit. */
bool db_is_accompanied(const struct db *db);
