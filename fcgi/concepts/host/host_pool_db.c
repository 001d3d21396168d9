/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/clock.h"
#include "host/host.h"

/* Room on a disk is free again only when a user deletes something. */
#define STORAGE_RETRY_S 60

DB_STATEMENT(lock_pool_statement) = {
    "host.lock_pool", "SELECT p.total_mb, p.used_mb, p.promised_gb,"
                      " (SELECT h.disk_overcommit FROM hosts h WHERE h.id = p.host_id)"
                      " FROM host_pools p WHERE p.host_id = ? FOR UPDATE"};
DB_STATEMENT(promise_statement) = {
    "host.promise_disk", "UPDATE host_pools SET promised_gb = promised_gb + ? WHERE host_id = ?"};
DB_STATEMENT(promised_statement) = {
    "host.promised_disk",
    "SELECT (SELECT CAST(COALESCE(SUM(disk_gb), 0) AS UNSIGNED) FROM sandboxes"
    "   WHERE host_id = ? AND state <> 'destroyed')"
    " + (SELECT CAST(COALESCE(SUM(size_gb), 0) AS UNSIGNED) FROM volumes"
    "   WHERE host_id = ? AND taken = 1)"
    " + (SELECT CAST(COALESCE(SUM(m.size_mb), 0) DIV 1024 AS UNSIGNED) FROM memory_images m"
    "   LEFT JOIN sandboxes s ON s.id = m.id LEFT JOIN checkpoints c ON c.id = m.id"
    "   WHERE COALESCE(s.host_id, c.host_id) = ?)"};
/* Update a known row: an insert also locks the row of the host, which a create locks before that of
 * the pool. */
DB_STATEMENT(update_pool_statement) = {
    "host.update_pool",
    "UPDATE host_pools SET total_mb = ?, used_mb = ?, promised_gb = ?, measured_at_ms = ?"
    " WHERE host_id = ?"};
DB_STATEMENT(insert_pool_statement) = {
    "host.insert_pool",
    "INSERT INTO host_pools (total_mb, used_mb, promised_gb, measured_at_ms, host_id)"
    " VALUES (?, ?, ?, ?, ?) ON DUPLICATE KEY UPDATE total_mb = VALUES(total_mb),"
    " used_mb = VALUES(used_mb), promised_gb = VALUES(promised_gb),"
    " measured_at_ms = VALUES(measured_at_ms)"};

static int insufficient_storage(struct error **err, const char *message)
{
    error_set(err, ERR_INSUFFICIENT_STORAGE, "%s", message);
    (*err)->retry_after_s = STORAGE_RETRY_S;
    return -1;
}

int host_disk_reserve(struct db *db, uint32_t host_id, uint32_t disk_gb, struct error **err)
{
    struct host_pool pool;
    uint64_t overcommit;
    {
        db_rows_auto *rows = NULL;
        if (db_query(db, &lock_pool_statement, DB_ARGS(db_u64(host_id)), &rows, err) < 0)
            return -1;
        if (!db_rows_next(rows))
            return 0;
        pool = (struct host_pool){db_get_u64(rows, 0), db_get_u64(rows, 1), db_get_u64(rows, 2)};
        overcommit = db_get_u64(rows, 3);
    }
    if (host_pool_is_nearly_full(&pool))
        return insufficient_storage(err,
                                    "The storage of the host is nearly full; try again later.");
    if (!disk_gb)
        return 0;
    if (overcommit && (pool.promised_gb + disk_gb) * 1024 > pool.total_mb * overcommit)
        return insufficient_storage(err, "The storage of the host is reserved for existing "
                                         "sandboxes and volumes; delete one, or try again later.");
    return db_exec(db, &promise_statement, DB_ARGS(db_u64(disk_gb), db_u64(host_id)), NULL, err);
}

struct pool_put {
    uint32_t host_id;
    uint64_t total_mb, used_mb;
};

/* The lock keeps out transactions that have promised room but not yet committed the row for it. */
static int pool_put_body(struct db *db, void *context, struct error **err)
{
    const struct pool_put *put = context;
    struct db_value host = db_u64(put->host_id);
    uint64_t promised_gb;
    bool known;
    if (db_query_finds(db, &lock_pool_statement, DB_ARGS(host), &known, err) < 0 ||
        DB_NUMBER(db, &promised_statement, DB_ARGS(host, host, host), &promised_gb, err) < 0)
        return -1;
    return db_exec(db, known ? &update_pool_statement : &insert_pool_statement,
                   DB_ARGS(db_u64(put->total_mb), db_u64(put->used_mb), db_u64(promised_gb),
                           db_i64(clock_now_ms()), host),
                   NULL, err);
}

int host_pool_put(struct db *db, uint32_t host_id, uint64_t total_mb, uint64_t used_mb,
                  struct error **err)
{
    struct pool_put put = {host_id, total_mb, used_mb};
    return db_transaction(db, pool_put_body, &put, err);
}
