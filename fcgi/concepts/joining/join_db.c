/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "joining/join_row.h"

#define COLUMNS "id, name, state, since_ms, expires_at_ms, address, failure, options"
/* Expired tokens are kept this long, so that the machine learns the reason of the refusal. */
#define KEPT_MS (24 * 60 * 60 * (int64_t)1000)

DB_STATEMENT(lock_statement) = {
    "join.lock", "SELECT " COLUMNS
                 ", hash_key_id, hash, machine, sealed FROM host_joins WHERE id = ? FOR UPDATE"};
DB_STATEMENT(get_statement) = {"join.get", "SELECT " COLUMNS " FROM host_joins WHERE id = ?"};
DB_STATEMENT(list_statement) = {
    "join.list",
    "SELECT " COLUMNS " FROM host_joins WHERE state <> 'active' ORDER BY name LIMIT 10000"};
DB_STATEMENT(insert_statement) = {
    "join.insert",
    "INSERT INTO host_joins (id, name, state, since_ms, expires_at_ms, options, hash_key_id, hash,"
    " sealed) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"};
DB_STATEMENT(take_statement) = {
    "join.take",
    "UPDATE host_joins SET state = 'taken', since_ms = ?, expires_at_ms = ?, address = ?,"
    " machine = ? WHERE id = ? AND state = 'waiting'"};
DB_STATEMENT(offer_statement) = {
    "join.offer", "UPDATE host_joins SET state = 'trial', since_ms = ?, lease_until_ms = 0"
                  " WHERE id = ? AND state = 'taken'"};
DB_STATEMENT(fail_statement) = {
    "join.fail", "UPDATE host_joins SET failure = ? WHERE id = ? AND state = 'trial'"};
DB_STATEMENT(done_statement) = {
    "join.done", "UPDATE host_joins SET state = 'active', since_ms = ?, failure = '', sealed = NULL"
                 " WHERE id = ? AND state = 'trial'"};
DB_STATEMENT(is_tried_statement) = {"join.is_tried",
                                    "SELECT 1 FROM host_joins WHERE id = ? AND state = 'trial'"};
DB_STATEMENT(forget_statement) = {"join.forget", "DELETE FROM host_joins WHERE name = ?"};
DB_STATEMENT(purge_statement) = {
    "join.purge",
    "DELETE FROM host_joins WHERE state = 'waiting' AND expires_at_ms < ? LIMIT 1000"};
static const struct lease_table trials =
    LEASE_TABLE_OWNED("host_joins", "id", "lease_until_ms", "state = 'trial'");

DB_STATEMENTS(statements) = {&trials.due, &trials.take, &trials.renew};

void join_row_deinit(struct join_row *row)
{
    join_deinit(&row->join);
    buffer_wipe(&row->sealed);
    *row = (struct join_row){.sealed = BUFFER_INIT(0)};
}

/* --- reading --- */

/* Returns the column after the last one read. */
static unsigned read_join(const struct db_rows *rows, struct join *join)
{
    unsigned c = 0;
    *join = (struct join){.options = NULL};
    db_copy_text(join->id, rows, c++);
    db_copy_text(join->name, rows, c++);
    join->state = (enum join_state)db_get_name(rows, c++, join_state_names, JOIN_STATE_COUNT);
    join->since_ms = db_get_i64(rows, c++);
    join->expires_at_ms = db_get_i64(rows, c++);
    db_copy_text(join->address, rows, c++);
    db_copy_text(join->failure, rows, c++);
    join->options = json_loads(db_get_text(rows, c++), 0, NULL);
    return c;
}

/* SQL NULL leaves all zeros, which is the hash of no secret. */
static void read_hash(const struct db_rows *rows, unsigned column, unsigned char hash[MAC_BYTES])
{
    size_t size = 0;
    const void *bytes = db_is_null(rows, column) ? NULL : db_get_blob(rows, column, &size);
    if (bytes && size == MAC_BYTES)
        memcpy(hash, bytes, size);
}

int join_row_lock(struct db *db, const char *id, struct join_row *row, bool *found,
                  struct error **err)
{
    db_rows_auto *rows = NULL;
    *row = (struct join_row){.sealed = BUFFER_INIT(0)};
    if (db_query(db, &lock_statement, DB_ARGS(db_text(id)), &rows, err) < 0)
        return -1;
    *found = db_rows_next(rows);
    if (!*found)
        return 0;
    unsigned c = read_join(rows, &row->join);
    row->kept.key_id = (uint16_t)db_get_u64(rows, c);
    read_hash(rows, c + 1, row->kept.hash);
    read_hash(rows, c + 2, row->machine);
    if (!db_is_null(rows, c + 3)) {
        size_t size;
        const void *sealed = db_get_blob(rows, c + 3, &size);
        row->sealed = (struct buffer)BUFFER_INIT(size + 1);
        buffer_append(&row->sealed, sealed, size);
    }
    return 0;
}

int join_row_get(struct db *db, const char *id, struct join *join, bool *found, struct error **err)
{
    *join = (struct join){.options = NULL};
    return DB_FIND(db, &get_statement, DB_ARGS(db_text(id)), read_join, join, found, err);
}

int join_list(struct db *db, struct join **joins, unsigned *count, struct error **err)
{
    return DB_LIST(db, &list_statement, DB_NO_ARGS, read_join, joins, count, err);
}

int join_row_is_tried(struct db *db, const char *id, bool *is_tried, struct error **err)
{
    return db_query_finds(db, &is_tried_statement, DB_ARGS(db_text(id)), is_tried, err);
}

/* --- writing --- */

int join_row_put(struct db *db, const struct join *join, const struct secret_hash *kept,
                 const struct buffer *sealed, struct error **err)
{
    autofree char *options = json_dumps(join->options, JSON_COMPACT);
    return db_exec(db, &insert_statement,
                   DB_ARGS(db_text(join->id), db_text(join->name),
                           db_text(join_state_names[join->state]), db_i64(join->since_ms),
                           db_i64(join->expires_at_ms), db_text(options), db_u64(kept->key_id),
                           db_blob(kept->hash, sizeof kept->hash),
                           db_blob(sealed->data, sealed->size)),
                   NULL, err);
}

int join_row_take(struct db *db, const struct join *join, const unsigned char machine[MAC_BYTES],
                  struct error **err)
{
    return db_exec(db, &take_statement,
                   DB_ARGS(db_i64(join->since_ms), db_i64(join->expires_at_ms),
                           db_text(join->address), db_blob(machine, MAC_BYTES), db_text(join->id)),
                   NULL, err);
}

int join_row_offer(struct db *db, const char *id, struct error **err)
{
    return db_exec(db, &offer_statement, DB_ARGS(db_i64(clock_now_ms()), db_text(id)), NULL, err);
}

int join_forget(struct db *db, const char *name, bool *forgotten, struct error **err)
{
    uint64_t gone;
    if (db_exec(db, &forget_statement, DB_ARGS(db_text(name)), &gone, err) < 0)
        return -1;
    *forgotten = gone > 0;
    return 0;
}

int join_purge(struct db *db, struct error **err)
{
    return db_exec_all(db, &purge_statement, DB_ARGS(db_i64(clock_now_ms() - KEPT_MS)), 1000, err);
}

/* --- trials --- */

struct next {
    const char *lease_owner;
    uint64_t lease_ms;
    char id[LEASE_KEY_SIZE];
};

static int next_body(struct db *db, void *context, struct error **err)
{
    struct next *next = context;
    return lease_take(db, &trials, next->lease_owner, next->lease_ms, next->id, NULL, err);
}

int join_row_next(struct db *db, const char *lease_owner, uint64_t lease_s, char id[ID_SIZE],
                  struct error **err)
{
    struct next next = {.lease_owner = lease_owner, .lease_ms = lease_s * 1000};
    if (db_transaction(db, next_body, &next, err) < 0)
        return -1;
    snprintf(id, ID_SIZE, "%.*s", ID_SIZE - 1, next.id);
    return 0;
}

void join_row_keep(struct db *db, const char *id, const char *lease_owner, uint64_t lease_s,
                   struct lease *lease)
{
    lease_keep(lease, db, &trials, id, lease_owner, lease_s * 1000);
}

int join_row_fail(struct db *db, const char *id, const char *lease_owner, const char *failure,
                  uint64_t delay_ms, struct error **err)
{
    autofree char *cut = xstrndup(failure, sizeof((struct join *)NULL)->failure - 1);
    if (db_exec(db, &fail_statement, DB_ARGS(db_text(cut), db_text(id)), NULL, err) < 0)
        return -1;
    return lease_defer(db, &trials, id, lease_owner, delay_ms, err);
}

int join_row_done(struct db *db, const char *id, struct error **err)
{
    return db_exec(db, &done_statement, DB_ARGS(db_i64(clock_now_ms()), db_text(id)), NULL, err);
}
