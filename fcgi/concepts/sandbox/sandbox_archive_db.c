/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdio.h>

#include "base/clock.h"
#include "host/host_answers.h"
#include "sandbox/sandbox_archive.h"

#define ARCHIVABLE                                                                \
    " FROM sandboxes s JOIN hosts h ON h.id = s.host_id WHERE s.archived = 0"     \
    " AND s.state = 'stopped' AND s.stopped_at_ms <= ? AND h.lost_at_ms IS NULL " \
    "AND " HOST_ANSWERS("h.")

static const struct db_statement team_statement = {
    "sandbox.archive_team",
    "SELECT t.id FROM teams t WHERE EXISTS (SELECT 1" ARCHIVABLE " AND s.team_id = t.id)"
    " ORDER BY t.archive_turn_ms, t.id LIMIT 1",
    true};
static const struct db_statement oldest_statement = {
    "sandbox.archive_oldest",
    "SELECT s.id" ARCHIVABLE " AND s.team_id = ? ORDER BY s.stopped_at_ms LIMIT 1", true};
static const struct db_statement mark_statement = {
    "sandbox.archived", "UPDATE sandboxes SET archived = ? WHERE id = ?", false};
static const struct db_statement turn_statement = {
    "sandbox.archive_turn", "UPDATE teams SET archive_turn_ms = ? WHERE id = ?", false};

static const struct db_statement *const statements[] = {&team_statement, &oldest_statement,
                                                        &mark_statement, &turn_statement};
const struct db_statement_list sandbox_archive_statements = DB_STATEMENT_LIST(statements);

int sandbox_row_archivable(struct db *db, int64_t before_ms, char id[ID_SIZE], struct error **err)
{
    db_rows_auto *teams = NULL, *oldest = NULL;
    *id = '\0';
    if (db_query(db, &team_statement, DB_ARGS(db_i64(before_ms)), &teams, err) < 0)
        return -1;
    if (!db_rows_next(teams))
        return 0;
    if (db_query(db, &oldest_statement, DB_ARGS(db_i64(before_ms), db_text(db_get_text(teams, 0))),
                 &oldest, err) < 0)
        return -1;
    if (db_rows_next(oldest))
        snprintf(id, ID_SIZE, "%s", db_get_text(oldest, 0));
    return 0;
}

int sandbox_row_archived(struct db *db, const struct sandbox *sandbox,
                         enum sandbox_archived archived, struct error **err)
{
    return db_exec(db, &mark_statement, DB_ARGS(db_u64(archived), db_text(sandbox->id)), NULL, err);
}

int sandbox_row_archive_turn(struct db *db, const char *team_id, struct error **err)
{
    return db_exec(db, &turn_statement, DB_ARGS(db_i64(clock_now_ms()), db_text(team_id)), NULL,
                   err);
}
