/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "account/access_revision.h"

#include <assert.h>

static const struct db_statement get_statement = {
    "access_revision.get", "SELECT revision FROM access_revision WHERE id = 1", true};
static const struct db_statement bump_statement = {
    "access_revision.bump", "UPDATE access_revision SET revision = revision + 1 WHERE id = 1",
    false};

static const struct db_statement *const statements[] = {&get_statement, &bump_statement};
const struct db_statement_list access_revision_statements = DB_STATEMENT_LIST(statements);

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
