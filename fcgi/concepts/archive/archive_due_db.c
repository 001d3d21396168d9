/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Choose the next sandbox or checkpoint to copy. */
#include <stdio.h>

#include "archive/archive_row.h"
#include "base/clock.h"
#include "host/host_answers.h"

#define DUE(rows, state, at)                                                 \
    " FROM " rows " o JOIN hosts h ON h.id = o.host_id WHERE o.archived = 0" \
    " AND o.state = '" state "' AND o." at                                   \
    " <= ? AND h.lost_at_ms IS NULL AND " HOST_ANSWERS("h.")
#define SANDBOXES   DUE("sandboxes", "stopped", "stopped_at_ms")
#define CHECKPOINTS DUE("checkpoints", "ready", "created_at_ms")

/* Both kinds share one turn per team: a team with a thousand of either delays no other team. */
DB_STATEMENT(team_statement) = {"archive.due_team",
                                "SELECT t.id FROM teams t WHERE EXISTS (SELECT 1" SANDBOXES
                                " AND o.team_id = t.id)"
                                " OR EXISTS (SELECT 1" CHECKPOINTS " AND o.team_id = t.id)"
                                " ORDER BY t.archive_turn_ms, t.id LIMIT 1"};
DB_STATEMENT(oldest_statement) = {
    "archive.due_oldest",
    "SELECT l.kind, l.id FROM ((SELECT 'sandbox' AS kind, o.id, o.stopped_at_ms AS at_ms" SANDBOXES
    " AND o.team_id = ? ORDER BY o.stopped_at_ms LIMIT 1)"
    " UNION ALL (SELECT 'checkpoint', o.id, o.created_at_ms" CHECKPOINTS
    " AND o.team_id = ? ORDER BY o.created_at_ms LIMIT 1)) l ORDER BY l.at_ms LIMIT 1"};
static const struct db_statement mark_statements[ARCHIVE_KINDS] = {
    [ARCHIVE_SANDBOX] = {"archive.mark", "UPDATE sandboxes SET archived = ? WHERE id = ?"},
    [ARCHIVE_CHECKPOINT] = {"archive.mark_checkpoint",
                            "UPDATE checkpoints SET archived = ? WHERE id = ?"},
};
DB_STATEMENT(turn_statement) = {"archive.turn",
                                "UPDATE teams SET archive_turn_ms = ? WHERE id = ?"};

DB_STATEMENTS(statements) = {&mark_statements[ARCHIVE_SANDBOX],
                             &mark_statements[ARCHIVE_CHECKPOINT]};

int archive_row_due(struct db *db, int64_t before_ms, enum archive_kind *kind, char id[ID_SIZE],
                    struct error **err)
{
    db_rows_auto *teams = NULL, *oldest = NULL;
    struct db_value before = db_i64(before_ms);
    *id = '\0';
    if (db_query(db, &team_statement, DB_ARGS(before, before), &teams, err) < 0)
        return -1;
    if (!db_rows_next(teams))
        return 0;
    struct db_value team = db_text(db_get_text(teams, 0));
    if (db_query(db, &oldest_statement, DB_ARGS(before, team, before, team), &oldest, err) < 0)
        return -1;
    if (!db_rows_next(oldest))
        return 0;
    *kind = (enum archive_kind)db_get_name(oldest, 0, archive_kind_names, ARCHIVE_KINDS);
    snprintf(id, ID_SIZE, "%s", db_get_text(oldest, 1));
    return 0;
}

int archive_row_mark(struct db *db, enum archive_kind kind, const char *object_id,
                     enum archive_mark mark, struct error **err)
{
    return db_exec(db, &mark_statements[kind], DB_ARGS(db_u64(mark), db_text(object_id)), NULL,
                   err);
}

int archive_row_turn(struct db *db, const char *team_id, struct error **err)
{
    return db_exec(db, &turn_statement, DB_ARGS(db_i64(clock_now_ms()), db_text(team_id)), NULL,
                   err);
}
