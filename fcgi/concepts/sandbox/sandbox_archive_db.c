/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sandbox/sandbox_archive.h"

static const struct db_statement on_lost_host_statement = {
    "sandbox.on_lost_host",
    "SELECT l.id FROM (SELECT s.id, ROW_NUMBER() OVER (PARTITION BY s.team_id"
    "   ORDER BY s.stopped_at_ms DESC, s.id) AS n FROM hosts h JOIN sandboxes s ON s.host_id = h.id"
    "   JOIN archives a ON a.current_of = s.id WHERE h.lost_at_ms IS NOT NULL"
    "   AND s.state = 'stopped' AND a.state = 'whole') l ORDER BY l.n, RAND() LIMIT ?",
    false};

static const struct db_statement *const statements[] = {&on_lost_host_statement};
const struct db_statement_list sandbox_archive_statements = DB_STATEMENT_LIST(statements);

int sandbox_row_on_lost_host(struct db *db, unsigned limit, char (*ids)[ID_SIZE], unsigned *count,
                             struct error **err)
{
    db_rows_auto *rows = NULL;
    *count = 0;
    if (db_query(db, &on_lost_host_statement, DB_ARGS(db_u64(limit)), &rows, err) < 0)
        return -1;
    for (; *count < limit && db_rows_next(rows); ++*count)
        db_copy_text(ids[*count], rows, 0);
    return 0;
}
