/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/host_answers.h"
#include "sandbox/sandbox_row.h"

/* In the order in which they were stopped: what was used last may be wanted first. */
static const struct db_statement leaving_statement = {
    "sandbox.leaving",
    "SELECT s.id FROM hosts h JOIN sandboxes s ON s.host_id = h.id"
    " JOIN template_versions v ON v.id = s.template_version_id"
    " WHERE h.leaving = 1 AND h.lost_at_ms IS NULL AND " HOST_ANSWERS(
        "h.") " AND s.state = 'stopped' AND s.volume_mounts = '{}' AND v.virtual_machine = 0"
              " AND NOT EXISTS (SELECT 1 FROM operations o WHERE o.sandbox_id = s.id"
              "   AND o.kind = 'move' AND o.state = 'failed' AND o.finished_at_ms > ?)"
              " ORDER BY s.stopped_at_ms, s.id LIMIT ?",
    true};

static const struct db_statement *const statements[] = {&leaving_statement};
const struct db_statement_list sandbox_move_statements = DB_STATEMENT_LIST(statements);

int sandbox_row_leaving(struct db *db, int64_t failed_before_ms, unsigned limit,
                        char (*ids)[ID_SIZE], unsigned *count, struct error **err)
{
    db_rows_auto *rows = NULL;
    if (db_query(db, &leaving_statement, DB_ARGS(db_i64(failed_before_ms), db_u64(limit)), &rows,
                 err) < 0)
        return -1;
    for (*count = 0; *count < limit && db_rows_next(rows); ++*count)
        db_copy_text(ids[*count], rows, 0);
    return 0;
}
