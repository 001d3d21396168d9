/* SPDX-License-Identifier: GPL-2.0-or-later */
/* All hosts of a deployment have one processor architecture, because each object may move. */
#include "host/host.h"

DB_STATEMENT(other_statement) = {"host.other_architecture",
                                 "SELECT name, architecture FROM hosts WHERE name <> ?"
                                 " AND architecture NOT IN ('', ?) AND lost_at_ms IS NULL LIMIT 1"};

int host_check_architecture(struct db *db, const char *name, const char *architecture,
                            struct error **err)
{
    db_rows_auto *rows = NULL;
    if (!*architecture)
        return 0;
    if (db_query(db, &other_statement, DB_ARGS(db_text(name), db_text(architecture)), &rows, err) <
        0)
        return -1;
    if (!db_rows_next(rows))
        return 0;
    return error_set_field(err, ERR_INVALID_REQUEST, "architecture",
                           "The machine for host %s has %s processors, and host %s has %s. All "
                           "hosts must have the same architecture, because templates and paused "
                           "sandboxes of one cannot start on the other. Use a machine with %s.",
                           name, architecture, db_get_text(rows, 0), db_get_text(rows, 1),
                           db_get_text(rows, 1));
}
