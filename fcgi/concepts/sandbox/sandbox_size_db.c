/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/clock.h"
#include "sandbox/sandbox_size_row.h"
#include "template/warm_plan.h"

#define OVERDUE_MS 60000

DB_STATEMENT(owe_statement) = {"size.owe",
                               "INSERT INTO sandbox_sizes (sandbox_id, due_at_ms) VALUES (?, ?)"};
DB_STATEMENT(forget_statement) = {"size.forget", "DELETE FROM sandbox_sizes WHERE sandbox_id = ?"};
DB_STATEMENT(known_statement) = {"size.known", "SELECT 1 FROM sandbox_sizes WHERE sandbox_id = ?"};
DB_STATEMENT(hold_statement) = {
    "size.hold", "UPDATE sandbox_sizes SET due_at_ms = ?, lease_owner = ?, attempts = attempts + 1"
                 " WHERE sandbox_id = ? AND (lease_owner = '' OR due_at_ms <= ?)"};
DB_STATEMENT(defer_statement) = {"size.defer",
                                 "UPDATE sandbox_sizes SET due_at_ms = ?, lease_owner = ''"
                                 " WHERE sandbox_id = ? AND lease_owner = ?"};
DB_STATEMENT(told_statement) = {
    "size.told", "DELETE FROM sandbox_sizes WHERE sandbox_id = ? AND lease_owner = ?"};
DB_STATEMENT(overdue_statement) = {
    "size.overdue", "SELECT COUNT(*) FROM sandbox_sizes z JOIN sandboxes s ON s.id = z.sandbox_id"
                    " WHERE s.state = 'ready' AND (z.attempts >= 5 OR z.due_at_ms <= ?)"};
const struct lease_table sandbox_sizes = LEASE_TEAMS_OWNED(
    "sandbox_sizes", "sandbox_sizes", "sandbox_id", "due_at_ms", "due_at_ms IS NOT NULL",
    "(SELECT s.team_id FROM sandboxes s WHERE s.id = sandbox_sizes.sandbox_id)");

DB_STATEMENTS(statements) = {&sandbox_sizes.line, &sandbox_sizes.due, &sandbox_sizes.take,
                             &sandbox_sizes.renew};

int sandbox_size_owe(struct db *db, const char *sandbox_id, struct error **err)
{
    return db_exec(db, &owe_statement,
                   DB_ARGS(db_text(sandbox_id), db_i64(clock_in_ms(WARM_QUIET_MS))), NULL, err);
}

int sandbox_size_forget(struct db *db, const char *sandbox_id, struct error **err)
{
    return db_exec(db, &forget_statement, DB_ARGS(db_text(sandbox_id)), NULL, err);
}

int sandbox_size_hold(struct db *db, const char *sandbox_id, const char *owner, uint64_t lease_s,
                      bool *found, bool *held, struct error **err)
{
    uint64_t matched = 0;
    *held = false;
    if (db_query_finds(db, &known_statement, DB_ARGS(db_text(sandbox_id)), found, err) < 0)
        return -1;
    if (*found && db_exec(db, &hold_statement,
                          DB_ARGS(db_i64(clock_in_s(lease_s)), db_text(owner), db_text(sandbox_id),
                                  db_i64(clock_now_ms())),
                          &matched, err) < 0)
        return -1;
    *held = matched;
    return 0;
}

int sandbox_size_overdue(struct db *db, uint64_t *count, struct error **err)
{
    return DB_NUMBER(db, &overdue_statement, DB_ARGS(db_i64(clock_now_ms() - OVERDUE_MS)), count,
                     err);
}

int size_row_take(struct db *db, const char *owner, uint64_t lease_s, char id[LEASE_KEY_SIZE],
                  unsigned *attempts, struct error **err)
{
    return lease_take(db, &sandbox_sizes, owner, lease_s * 1000, id, attempts, err);
}

int size_row_defer(struct db *db, const char *id, const char *owner, uint64_t delay_ms,
                   struct error **err)
{
    return db_exec(db, &defer_statement,
                   DB_ARGS(db_i64(clock_in_ms(delay_ms)), db_text(id), db_text(owner)), NULL, err);
}

int size_row_told(struct db *db, const char *id, const char *owner, struct error **err)
{
    return db_exec(db, &told_statement, DB_ARGS(db_text(id), db_text(owner)), NULL, err);
}
