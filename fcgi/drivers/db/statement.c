/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Prepared statements: the cache of each connection, arguments, and repeats. */
#include <string.h>

#include "base/clock.h"
#include "base/counters.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/panic.h"
#include "base/str.h"
#include "db/connection.h"

#define ARGUMENTS_MAX 64
#define SLOW_MS       1000 /* from there on it is worth a line of the log */
#define EXEC_ALL_MS   10000

/* --- values --- */

struct db_value db_null(void)
{
    return (struct db_value){.type = DB_NULL};
}

struct db_value db_i64(int64_t value)
{
    return (struct db_value){.type = DB_I64, .i64 = value};
}

struct db_value db_u64(uint64_t value)
{
    return (struct db_value){.type = DB_U64, .u64 = value};
}

struct db_value db_bool(bool value)
{
    return db_u64(value);
}

struct db_value db_text(const char *text)
{
    if (!text)
        return db_null();
    return (struct db_value){.type = DB_TEXT, .bytes = {text, strlen(text)}};
}

struct db_value db_text_cut(const char *text, size_t most)
{
    return (struct db_value){.type = DB_TEXT, .bytes = {text, str_cut(text, most)}};
}

struct db_value db_blob(const void *data, size_t size)
{
    return (struct db_value){.type = DB_BLOB, .bytes = {data, size}};
}

static void bind_value(MYSQL_BIND *bind, const struct db_value *value)
{
    switch (value->type) {
    case DB_NULL:
        bind->buffer_type = MYSQL_TYPE_NULL;
        break;
    case DB_I64:
        bind->buffer_type = MYSQL_TYPE_LONGLONG;
        bind->buffer = (void *)&value->i64;
        break;
    case DB_U64:
        bind->buffer_type = MYSQL_TYPE_LONGLONG;
        bind->buffer = (void *)&value->u64;
        bind->is_unsigned = 1;
        break;
    case DB_TEXT:
    case DB_BLOB:
        bind->buffer_type = value->type == DB_TEXT ? MYSQL_TYPE_STRING : MYSQL_TYPE_BLOB;
        bind->buffer = value->bytes.data ? (void *)value->bytes.data : (void *)"";
        bind->buffer_length = value->bytes.size;
        break;
    }
}

/* --- the cache --- */

static MYSQL_STMT *cached(const struct db *db, const struct db_statement *statement)
{
    for (size_t i = 0; i < db->prepared_count; i++)
        if (db->prepared[i].statement == statement)
            return db->prepared[i].handle;
    return NULL;
}

static void cache(struct db *db, const struct db_statement *statement, MYSQL_STMT *handle)
{
    if (db->prepared_count == db->prepared_capacity) {
        db->prepared_capacity = db->prepared_capacity ? db->prepared_capacity * 2 : 16;
        db->prepared = xreallocarray(db->prepared, db->prepared_capacity, sizeof *db->prepared);
    }
    db->prepared[db->prepared_count++] = (struct prepared){statement, handle};
}

/* The server may drop a statement (it was reset, a proxy changed servers). */
static void forget(struct db *db, MYSQL_STMT *handle)
{
    for (size_t i = 0; i < db->prepared_count; i++) {
        if (db->prepared[i].handle == handle) {
            mysql_stmt_close(handle);
            db->prepared[i] = db->prepared[--db->prepared_count];
            return;
        }
    }
}

static int prepare(struct db *db, const struct db_statement *statement, MYSQL_STMT **out,
                   struct error **err)
{
    MYSQL_STMT *handle = mysql_stmt_init(db->mysql);
    if (!handle)
        panic("out of memory");
    db_flag yes = 1;
    mysql_stmt_attr_set(handle, STMT_ATTR_UPDATE_MAX_LENGTH, &yes);
    if (mysql_stmt_prepare(handle, statement->sql, strlen(statement->sql))) {
        /* db_server_error() may close the connection, which the handle outlives. */
        db_server_error(db, statement->name, mysql_stmt_errno(handle), mysql_stmt_error(handle),
                        err);
        mysql_stmt_close(handle);
        return -1;
    }
    *out = handle;
    return 0;
}

/* Where the section begins and ends, by the linker. Weak: a program may have no statement. */
extern const struct db_statement *const __start_db_statements[] __attribute__((weak));
extern const struct db_statement *const __stop_db_statements[] __attribute__((weak));

int db_check_statements(struct db *db, struct error **err)
{
    /* Between the entries of two files there may be room, which is NULL. */
    for (const struct db_statement *const *entry = __start_db_statements;
         entry < __stop_db_statements; entry++) {
        MYSQL_STMT *handle = NULL;
        if (!*entry)
            continue;
        if (db_connection_ready(db, err) < 0 || prepare(db, *entry, &handle, err) < 0)
            return -1;
        mysql_stmt_close(handle);
        db->last_used_ms = clock_monotonic_ms();
    }
    return 0;
}

/* --- running --- */

struct call {
    const struct db_statement *statement;
    const struct db_value *args;
    size_t count;
    uint64_t affected;
    struct db_rows **rows; /* NULL: no result rows are wanted */
    size_t bytes_max;      /* 0: all rows are wanted */
    bool sent;             /* the server may have run it */
    bool lost;             /* it lost against another, and was not */
};

static int check_call(const struct call *call, MYSQL_STMT *handle, struct error **err)
{
    const char *name = call->statement->name;
    if (mysql_stmt_param_count(handle) != call->count || call->count > ARGUMENTS_MAX)
        return error_set(err, ERR_INTERNAL, "%s: the statement needs %lu arguments and got %zu",
                         name, mysql_stmt_param_count(handle), call->count);
    if (!call->rows != !mysql_stmt_field_count(handle))
        return error_set(err, ERR_INTERNAL, "%s: %s", name,
                         call->rows ? "the statement has no result rows"
                                    : "the statement has result rows");
    return 0;
}

static int execute(struct call *call, MYSQL_STMT *handle, struct error **err)
{
    MYSQL_BIND binds[ARGUMENTS_MAX];
    memset(binds, 0, sizeof binds[0] * (call->count ? call->count : 1));
    for (size_t i = 0; i < call->count; i++)
        bind_value(&binds[i], &call->args[i]);
    if (call->count && mysql_stmt_bind_param(handle, binds))
        return -1;
    call->sent = true;
    COUNT(COUNT_STATEMENTS, call->statement->name);
    if (mysql_stmt_execute(handle))
        return -1;
    if (call->rows)
        return db_rows_fetch(handle, call->statement, call->bytes_max, call->rows, err);
    call->affected = mysql_stmt_affected_rows(handle);
    return 0;
}

static int run_once(struct db *db, struct call *call, struct error **err)
{
    MYSQL_STMT *handle = cached(db, call->statement);
    call->sent = call->lost = false;
    if (!handle) {
        if (prepare(db, call->statement, &handle, err) < 0)
            return -1;
        cache(db, call->statement, handle);
    }
    if (check_call(call, handle, err) < 0)
        return -1;
    int64_t started_ms = clock_monotonic_ms();
    int result = execute(call, handle, err);
    db->last_used_ms = clock_monotonic_ms();
    if (db->last_used_ms - started_ms >= SLOW_MS)
        log_warning("slow statement", LOG_STR("statement", call->statement->name),
                    LOG_INT("duration_ms", db->last_used_ms - started_ms));
    if (result == 0) {
        mysql_stmt_free_result(handle);
        return 0;
    }
    if (*err) { /* made by us, with the answer half read */
        mysql_stmt_free_result(handle);
        return -1;
    }
    unsigned code = mysql_stmt_errno(handle);
    call->sent = call->sent && db_is_uncertain(code, mysql_stmt_error(handle));
    call->lost = db_is_conflict(code, mysql_stmt_error(handle));
    db_server_error(db, call->statement->name, code, mysql_stmt_error(handle), err);
    if (db->mysql && code == ER_UNKNOWN_STMT_HANDLER)
        forget(db, handle);
    return -1;
}

/* The rules of db.h: a statement that certainly did not run, or that only reads, is sent once more
 * on a new connection. For any other statement without an answer the outcome is unknown. Outside of
 * a transaction, a statement that lost against another one is repeated, as a transaction would
 * be. */
static int run(struct db *db, struct call *call, struct error **err)
{
    int64_t started_ms = clock_monotonic_ms();
    unsigned reconnects = 0;
    for (unsigned runs = 1;; runs++) {
        if (db_connection_ready(db, err) < 0)
            return error_context(err, "%s", call->statement->name);
        if (run_once(db, call, err) == 0)
            return 0;
        if (db->transaction != DB_OUTSIDE || (db->mysql && !call->lost))
            return -1;
        if (call->sent && !call->rows)
            return error_recode(err, ERR_OUTCOME_UNKNOWN);
        /* A server that let us wait until the end once would do so again. */
        bool patient = clock_monotonic_ms() - started_ms < (int64_t)db->timeout_s * 1000;
        if (!patient || db->pinned || runs == DB_RUNS_MAX || (!db->mysql && reconnects++))
            return -1;
        if (db->mysql)
            db_pause_after(runs);
        error_clear(err);
    }
}

static int run_accompanied(struct db *db, void *context, struct error **err)
{
    struct call *call = context;
    if (run(db, call, err) < 0)
        return -1;
    db->companion_is_due |= call->affected > 0;
    return 0;
}

int db_exec(struct db *db, const struct db_statement *statement, const struct db_value *args,
            size_t count, uint64_t *affected, struct error **err)
{
    struct call call = {.statement = statement, .args = args, .count = count};
    bool accompanied = db->companion && db->companion->counts(statement, db->companion->context);
    int result = !accompanied            ? run(db, &call, err)
                 : db_in_transaction(db) ? run_accompanied(db, &call, err)
                                         : db_transaction(db, run_accompanied, &call, err);
    if (result < 0)
        return -1;
    if (affected)
        *affected = call.affected;
    return 0;
}

int db_exec_all(struct db *db, const struct db_statement *statement, const struct db_value *args,
                size_t count, unsigned batch, struct error **err)
{
    int64_t until_ms = clock_monotonic_ms() + EXEC_ALL_MS;
    uint64_t affected;
    do
        if (db_exec(db, statement, args, count, &affected, err) < 0)
            return -1;
    while (affected >= batch && clock_monotonic_ms() < until_ms);
    return 0;
}

int db_query(struct db *db, const struct db_statement *statement, const struct db_value *args,
             size_t count, struct db_rows **rows, struct error **err)
{
    struct db_rows *fetched = NULL;
    struct call call = {.statement = statement, .args = args, .count = count, .rows = &fetched};
    if (run(db, &call, err) < 0)
        return -1;
    *rows = fetched;
    return 0;
}

int db_query_part(struct db *db, const struct db_statement *statement, const struct db_value *args,
                  size_t count, size_t bytes_max, struct db_rows **rows, bool *cut,
                  struct error **err)
{
    struct db_rows *fetched = NULL;
    struct call call = {.statement = statement,
                        .args = args,
                        .count = count,
                        .rows = &fetched,
                        .bytes_max = bytes_max};
    if (run(db, &call, err) < 0)
        return -1;
    *cut = db_rows_size(fetched) >= bytes_max;
    *rows = fetched;
    return 0;
}

int db_query_row(struct db *db, const struct db_statement *statement, const struct db_value *args,
                 size_t count, const char *missing, struct db_rows **rows, struct error **err)
{
    if (db_query(db, statement, args, count, rows, err) < 0)
        return -1;
    return db_rows_next(*rows) ? 0 : error_set(err, ERR_NOT_FOUND, "%s", missing);
}

int db_query_finds(struct db *db, const struct db_statement *statement, const struct db_value *args,
                   size_t count, bool *found, struct error **err)
{
    db_rows_auto *rows = NULL;
    if (db_query(db, statement, args, count, &rows, err) < 0)
        return -1;
    *found = db_rows_next(rows);
    return 0;
}

int db_query_text(struct db *db, const struct db_statement *statement, const struct db_value *args,
                  size_t count, char *text, size_t size, struct error **err)
{
    db_rows_auto *rows = NULL;
    if (db_query(db, statement, args, count, &rows, err) < 0)
        return -1;
    snprintf(text, size, "%s", db_rows_next(rows) ? db_get_text(rows, 0) : "");
    return 0;
}

int db_query_json(struct db *db, const struct db_statement *statement, const struct db_value *args,
                  size_t count, json_t **json, struct error **err)
{
    db_rows_auto *rows = NULL;
    *json = NULL;
    if (db_query(db, statement, args, count, &rows, err) < 0)
        return -1;
    if (db_rows_next(rows))
        *json = json_loads(db_get_text(rows, 0), 0, NULL);
    return 0;
}

int db_query_ids(struct db *db, const struct db_statement *statement, const struct db_value *args,
                 size_t count, unsigned limit, char (*ids)[ID_SIZE], unsigned *ids_count,
                 struct error **err)
{
    db_rows_auto *rows = NULL;
    if (db_query(db, statement, args, count, &rows, err) < 0)
        return -1;
    for (; *ids_count < limit && db_rows_next(rows); ++*ids_count)
        db_copy_text(ids[*ids_count], rows, 0);
    return 0;
}
