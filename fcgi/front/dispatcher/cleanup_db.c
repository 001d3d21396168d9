/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdio.h>

#include "base/mem.h"
#include "dispatcher/cleanup_row.h"

/* Through the teams of the plan: other plans may keep many sandboxes for longer. */
DB_STATEMENT(old_statement) = {
    "cleanup.old", "SELECT STRAIGHT_JOIN s.id FROM teams t"
                   " JOIN sandboxes s FORCE INDEX (sandboxes_stopped) ON s.team_id = t.id"
                   " WHERE s.state = 'stopped' AND s.cleanup_at_ms IS NULL AND s.stopped_at_ms <= ?"
                   " AND t.plan = ? ORDER BY s.stopped_at_ms LIMIT ?"};
/* Find teams over their limit by a counter; then select the first sandboxes of each. */
DB_STATEMENT(teams_statement) = {
    "cleanup.teams",
    "SELECT t.id, t.stopped_sandboxes - CAST(p.stopped_sandboxes AS SIGNED) FROM teams t"
    " JOIN plans p ON p.name = t.plan"
    " WHERE t.stopped_sandboxes > CAST(p.stopped_sandboxes AS SIGNED) LIMIT ?"};
DB_STATEMENT(first_statement) = {
    "cleanup.first",
    "SELECT f.id FROM (SELECT id, cleanup_at_ms FROM sandboxes FORCE INDEX (sandboxes_stopped)"
    "   WHERE state = 'stopped' AND team_id = ? ORDER BY stopped_at_ms, id LIMIT ?) f"
    " WHERE f.cleanup_at_ms IS NULL LIMIT ?"};
DB_STATEMENT(warned_statement) = {
    "cleanup.warned",
    "SELECT id FROM sandboxes FORCE INDEX (sandboxes_cleanup)"
    " WHERE state = 'stopped' AND cleanup_at_ms IS NOT NULL ORDER BY cleanup_at_ms LIMIT ?"};
DB_STATEMENT(position_statement) = {
    "cleanup.position",
    "SELECT CAST(COALESCE(SUM(stopped_at_ms < ? OR (stopped_at_ms = ? AND id < ?)), 0) AS "
    "UNSIGNED),"
    " COUNT(*) FROM sandboxes WHERE state = 'stopped' AND reserved = 0 AND team_id = ?"};

DB_STATEMENT(old_checkpoints_statement) = {
    "cleanup.old_checkpoints",
    "SELECT STRAIGHT_JOIN c.id FROM teams t"
    " JOIN checkpoints c FORCE INDEX (checkpoints_old) ON c.team_id = t.id"
    " WHERE c.state = 'ready' AND c.cleanup_at_ms IS NULL AND c.created_at_ms <= ?"
    " AND t.plan = ? ORDER BY c.created_at_ms LIMIT ?"};
DB_STATEMENT(warned_checkpoints_statement) = {
    "cleanup.warned_checkpoints",
    "SELECT id FROM checkpoints FORCE INDEX (checkpoints_cleanup)"
    " WHERE state = 'ready' AND cleanup_at_ms IS NOT NULL ORDER BY cleanup_at_ms LIMIT ?"};
DB_STATEMENT(set_checkpoint_statement) = {"cleanup.set_checkpoint",
                                          "UPDATE checkpoints SET cleanup_at_ms = ? WHERE id = ?"};

static void append(const struct db_rows *rows, struct cleanup_candidate **candidates, size_t *count)
{
    *candidates = xreallocarray(*candidates, *count + 1, sizeof **candidates);
    snprintf((*candidates)[(*count)++].id, ID_SIZE, "%s", db_get_text(rows, 0));
}

static int read_candidates(struct db *db, const struct db_statement *statement,
                           const struct db_value *args, size_t arg_count,
                           struct cleanup_candidate **candidates, size_t *count, struct error **err)
{
    db_rows_auto *rows = NULL;
    *candidates = NULL;
    *count = 0;
    if (db_query(db, statement, args, arg_count, &rows, err) < 0)
        return -1;
    while (db_rows_next(rows))
        append(rows, candidates, count);
    return 0;
}

int cleanup_row_old(struct db *db, const char *plan, int64_t stopped_before_ms,
                    struct cleanup_candidate **candidates, size_t *count, struct error **err)
{
    return read_candidates(db, &old_statement,
                           DB_ARGS(db_i64(stopped_before_ms), db_text(plan), db_u64(CLEANUP_BATCH)),
                           candidates, count, err);
}

int cleanup_row_warned(struct db *db, struct cleanup_candidate **candidates, size_t *count,
                       struct error **err)
{
    return read_candidates(db, &warned_statement, DB_ARGS(db_u64(CLEANUP_BATCH)), candidates, count,
                           err);
}

static int first_of_team(struct db *db, const char *team_id, uint64_t limit,
                         struct cleanup_candidate **candidates, size_t *count, struct error **err)
{
    db_rows_auto *rows = NULL;
    if (db_query(db, &first_statement,
                 DB_ARGS(db_text(team_id), db_u64(limit), db_u64(CLEANUP_OF_TEAM)), &rows, err) < 0)
        return -1;
    while (db_rows_next(rows))
        append(rows, candidates, count);
    return 0;
}

int cleanup_row_excess(struct db *db, struct cleanup_candidate **candidates, size_t *count,
                       struct error **err)
{
    db_rows_auto *teams = NULL;
    *candidates = NULL;
    *count = 0;
    if (db_query(db, &teams_statement, DB_ARGS(db_u64(CLEANUP_BATCH)), &teams, err) < 0)
        return -1;
    while (db_rows_next(teams) && *count < CLEANUP_BATCH)
        if (first_of_team(db, db_get_text(teams, 0), db_get_u64(teams, 1), candidates, count, err) <
            0)
            return -1;
    return 0;
}

int cleanup_row_position(struct db *db, const struct sandbox *sandbox, uint64_t *before,
                         uint64_t *stopped, struct error **err)
{
    db_rows_auto *rows = NULL;
    if (db_query(db, &position_statement,
                 DB_ARGS(db_i64(sandbox->stopped_at_ms), db_i64(sandbox->stopped_at_ms),
                         db_text(sandbox->id), db_text(sandbox->team_id)),
                 &rows, err) < 0)
        return -1;
    db_rows_next(rows);
    *before = db_get_u64(rows, 0);
    *stopped = db_get_u64(rows, 1);
    return 0;
}

int cleanup_row_old_checkpoints(struct db *db, const char *plan, int64_t made_before_ms,
                                struct cleanup_candidate **candidates, size_t *count,
                                struct error **err)
{
    return read_candidates(db, &old_checkpoints_statement,
                           DB_ARGS(db_i64(made_before_ms), db_text(plan), db_u64(CLEANUP_BATCH)),
                           candidates, count, err);
}

int cleanup_row_warned_checkpoints(struct db *db, struct cleanup_candidate **candidates,
                                   size_t *count, struct error **err)
{
    return read_candidates(db, &warned_checkpoints_statement, DB_ARGS(db_u64(CLEANUP_BATCH)),
                           candidates, count, err);
}

int cleanup_row_set_checkpoint(struct db *db, const char *id, int64_t cleanup_at_ms,
                               struct error **err)
{
    return db_exec(db, &set_checkpoint_statement,
                   DB_ARGS(cleanup_at_ms ? db_i64(cleanup_at_ms) : db_null(), db_text(id)), NULL,
                   err);
}
