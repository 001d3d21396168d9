/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sandbox/sandbox_sessions_row.h"

#include <stdio.h>

#include "base/clock.h"
#include "db/lease.h"

#define LEASE_MS 10000

DB_STATEMENT(end_statement) = {
    "sessions.end",
    "UPDATE sandboxes SET version = UUID_SHORT(), session_epoch = session_epoch + 1,"
    " sessions_due_at_ms = ? WHERE id = ?"};
static const struct lease_table ends =
    LEASE_TEAMS("sessions", "sandboxes", "id", "sessions_due_at_ms",
                "sessions_due_at_ms IS NOT NULL AND visible = 1", "team_id");
DB_STATEMENT(done_statement) = {
    "sessions.done",
    "UPDATE sandboxes s SET s.sessions_due_at_ms = NULL WHERE s.id = ? AND s.session_epoch"
    " + (SELECT e.session_epoch FROM teams e WHERE e.id = s.team_id) = ?"};

DB_STATEMENTS(statements) = {&ends.line, &ends.due, &ends.take, &ends.renew};

int sandbox_sessions_row_end(struct db *db, const char *id, struct error **err)
{
    return db_exec(db, &end_statement, DB_ARGS(db_i64(clock_in_ms(LEASE_MS)), db_text(id)), NULL,
                   err);
}

int sandbox_sessions_row_take(struct db *db, char id[ID_SIZE], struct error **err)
{
    char key[LEASE_KEY_SIZE];
    if (lease_take(db, &ends, NULL, LEASE_MS, key, NULL, err) < 0)
        return -1;
    snprintf(id, ID_SIZE, "%.*s", ID_SIZE - 1, key);
    return 0;
}

int sandbox_sessions_row_done(struct db *db, const char *id, uint32_t epoch, struct error **err)
{
    return db_exec(db, &done_statement, DB_ARGS(db_text(id), db_u64(epoch)), NULL, err);
}
