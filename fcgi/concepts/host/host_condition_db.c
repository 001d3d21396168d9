/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Hosts that do not answer, and hosts that are lost. */
#include "base/clock.h"
#include "base/mem.h"
#include "host/host.h"

DB_STATEMENT(note_condition_statement) = {
    "host.note_condition", "UPDATE hosts SET silent_since_ms = ?, down_since_ms = ? WHERE id = ?"};
/* Only operations that failed and wait for their next attempt. A first attempt may still be in
 * progress. */
DB_STATEMENT(hurry_statement) = {
    "host.hurry",
    "UPDATE operations o JOIN sandboxes s ON s.operation_id = o.id SET o.lease_until_ms = ?"
    " WHERE s.host_id = ? AND o.state = 'running' AND o.last_error <> '' AND o.lease_until_ms > ?"};
DB_STATEMENT(note_lost_statement) = {
    "host.note_lost",
    "UPDATE hosts SET state = 'draining', lost_at_ms = ?, down_since_ms = COALESCE(down_since_ms, "
    "silent_since_ms, ?) WHERE id = ?"};
DB_STATEMENT(lost_sources_statement) = {"host.lost_sources",
                                        "DELETE FROM template_sources WHERE host_id = ?"};
DB_STATEMENT(lost_warm_statement) = {"host.lost_warm",
                                     "DELETE FROM warm_instances WHERE host_id = ?"};
DB_STATEMENT(lost_addresses_statement) = {
    "host.lost_addresses",
    "UPDATE host_addresses SET policy_of = NULL, policy_due_at_ms = NULL,"
    " holder = IF(holder IN (SELECT instance_name FROM warm_instances), NULL, holder)"
    " WHERE host_id = ?"};

DB_STATEMENT(is_lost_statement) = {"host.is_lost",
                                   "SELECT 1 FROM hosts WHERE id = ? AND lost_at_ms IS NOT NULL"};

static struct db_value null_or_time(int64_t at_ms)
{
    return at_ms ? db_i64(at_ms) : db_null();
}

int host_note_condition(struct db *db, uint32_t id, const struct host_condition *condition,
                        struct error **err)
{
    struct db_value now = db_i64(clock_now_ms());
    if (db_exec(db, &note_condition_statement,
                DB_ARGS(null_or_time(condition->silent_since_ms),
                        null_or_time(condition->down_since_ms), db_u64(id)),
                NULL, err) < 0)
        return -1;
    return condition->silent_since_ms
               ? 0
               : db_exec(db, &hurry_statement, DB_ARGS(now, db_u64(id), now), NULL, err);
}

int host_note_lost(struct db *db, uint32_t id, struct error **err)
{
    const struct db_statement *const forgets[] = {&lost_sources_statement,
                                                  &lost_addresses_statement, &lost_warm_statement};
    struct db_value now = db_i64(clock_now_ms());
    for (size_t i = 0; i < ARRAY_SIZE(forgets); i++)
        if (db_exec(db, forgets[i], DB_ARGS(db_u64(id)), NULL, err) < 0)
            return -1;
    return db_exec(db, &note_lost_statement, DB_ARGS(now, now, db_u64(id)), NULL, err);
}

int host_is_lost(struct db *db, uint32_t id, bool *lost, struct error **err)
{
    return db_query_finds(db, &is_lost_statement, DB_ARGS(db_u64(id)), lost, err);
}
