/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Refused acts: each minute, one refusal of an actor has a row in the audit log, with the number of
 * earlier refusals that have none. */
#include "audit/audit.h"
#include "base/clock.h"

#define REST_MS INT64_C(60000)
#define KEPT_MS INT64_C(86400000)

/* A later time was written before the clock was set back. The clocks of two front nodes differ by
 * less than a minute. */
DB_STATEMENT(count_statement) = {
    "audit.count_refusal", "UPDATE audit_refusals SET unwritten = unwritten + 1 WHERE actor_id = ?"
                           " AND until_ms > ? AND until_ms <= ?"};
DB_STATEMENT(unwritten_statement) = {"audit.unwritten_refusals",
                                     "SELECT unwritten FROM audit_refusals WHERE actor_id = ?"};
DB_STATEMENT(begin_statement) = {
    "audit.begin_refusals",
    "INSERT INTO audit_refusals (actor_id, until_ms, unwritten) VALUES (?, ?, 0)"
    " ON DUPLICATE KEY UPDATE until_ms = VALUES(until_ms), unwritten = 0"};
DB_STATEMENT(purge_statement) = {
    "audit.purge_refusals",
    "DELETE FROM audit_refusals WHERE until_ms < ? ORDER BY until_ms LIMIT 1000"};

int audit_refusal_count(struct db *db, const char *actor_id, bool *is_written, uint64_t *unwritten,
                        struct error **err)
{
    db_rows_auto *rows = NULL;
    int64_t now_ms = clock_now_ms();
    uint64_t counted;
    *unwritten = 0;
    if (db_exec(db, &count_statement,
                DB_ARGS(db_text(actor_id), db_i64(now_ms), db_i64(now_ms + 2 * REST_MS)), &counted,
                err) < 0)
        return -1;
    *is_written = !counted;
    if (counted)
        return 0;
    if (db_query(db, &unwritten_statement, DB_ARGS(db_text(actor_id)), &rows, err) < 0)
        return -1;
    *unwritten = db_rows_next(rows) ? db_get_u64(rows, 0) : 0;
    return db_exec(db, &begin_statement, DB_ARGS(db_text(actor_id), db_i64(now_ms + REST_MS)), NULL,
                   err);
}

int audit_refusal_purge(struct db *db, struct error **err)
{
    return db_exec_all(db, &purge_statement, DB_ARGS(db_i64(clock_now_ms() - KEPT_MS)), 1000, err);
}
