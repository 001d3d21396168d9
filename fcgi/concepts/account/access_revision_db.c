/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "account/access_revision.h"

#include <assert.h>

DB_STATEMENT(get_statement) = {"access_revision.get",
                               "SELECT revision FROM access_revision WHERE id = 1", true};
DB_STATEMENT(bump_statement) = {"access_revision.bump",
                                "UPDATE access_revision SET revision = revision + 1 WHERE id = 1",
                                false};

int access_revision_get(struct db *db, uint64_t *revision, struct error **err)
{
    db_rows_auto *rows = NULL;
    if (db_query(db, &get_statement, DB_NO_ARGS, &rows, err) < 0)
        return -1;
    if (!db_rows_next(rows))
        return error_set(err, ERR_INTERNAL, "the table access_revision has no row");
    *revision = db_get_u64(rows, 0);
    return 0;
}

int access_revision_bump(struct db *db, struct error **err)
{
    assert(db_in_transaction(db));
    return db_exec(db, &bump_statement, DB_NO_ARGS, NULL, err);
}
