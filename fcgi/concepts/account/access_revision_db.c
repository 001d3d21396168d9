/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "account/access_revision.h"

#include <assert.h>
#include <string.h>

DB_STATEMENT(get_statement) = {"access_revision.get",
                               "SELECT revision FROM access_revision WHERE id = 1"};
DB_STATEMENT(bump_statement) = {"access_revision.bump",
                                "UPDATE access_revision SET revision = revision + 1 WHERE id = 1"};
DB_STATEMENT(note_statement) = {
    "access_revision.note",
    "REPLACE INTO access_changes (slot, revision, user_id)"
    " SELECT a.revision % ?, a.revision, ? FROM access_revision a WHERE a.id = 1"};
DB_STATEMENT(changes_statement) = {
    "access_revision.changes",
    "SELECT user_id FROM access_changes WHERE revision > ? AND revision <= ? ORDER BY revision"
    " LIMIT ?"};

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

int access_revision_bump(struct db *db, const char *user_id, struct error **err)
{
    assert(db_in_transaction(db));
    if (db_exec(db, &bump_statement, DB_NO_ARGS, NULL, err) < 0)
        return -1;
    return db_exec(db, &note_statement, DB_ARGS(db_u64(ACCESS_CHANGES_MAX), db_text(user_id)), NULL,
                   err);
}

int access_changes_read(struct db *db, uint64_t from, uint64_t to, struct access_changes *changes,
                        struct error **err)
{
    db_rows_auto *rows = NULL;
    changes->count = 0;
    changes->all = to < from || to - from > ACCESS_CHANGES_MAX;
    if (changes->all || from == to)
        return 0;
    if (db_query(db, &changes_statement,
                 DB_ARGS(db_u64(from), db_u64(to), db_u64(ACCESS_CHANGES_MAX)), &rows, err) < 0)
        return -1;
    for (; db_rows_next(rows); changes->count++) {
        changes->all |= !*db_get_text(rows, 0);
        db_copy_text(changes->user_ids[changes->count], rows, 0);
    }
    /* A later change may have replaced one of these. */
    changes->all |= changes->count != to - from;
    return 0;
}

bool access_changes_concern(const struct access_changes *changes, const char *user_id)
{
    bool concerns = changes->all;
    for (unsigned i = 0; !concerns && i < changes->count; i++)
        concerns = !strcmp(changes->user_ids[i], user_id);
    return concerns;
}
