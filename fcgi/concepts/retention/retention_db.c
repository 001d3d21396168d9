/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "retention/retention.h"

#include "base/mem.h"
#include "base/ulid.h"

/* By identifiers, which begin with the time at which something was made: what is young is not even
 * read. What is old and ended lately is read again each time; that is little. */
static const struct db_statement operations_statement = {
    "retention.operations",
    "DELETE FROM operations WHERE id < ? AND state <> 'running' AND finished_at_ms < ?"
    " ORDER BY id LIMIT ?",
    false};
/* deadline_at_ms IS NULL, as in all of them: the index goes on in the order of identifiers. What
 * hangs on a sandbox goes with it. */
static const struct db_statement sandboxes_statement = {
    "retention.sandboxes",
    "SELECT id FROM sandboxes FORCE INDEX (sandboxes_deadline)"
    " WHERE state = 'destroyed' AND deadline_at_ms IS NULL AND id < ? AND updated_at_ms < ?"
    " AND reserved = 0 AND operation_id IS NULL ORDER BY id LIMIT ?",
    true};
static const struct db_statement sandbox_statement = {
    "retention.sandbox", "DELETE FROM sandboxes WHERE id = ? AND state = 'destroyed'", false};
static const struct db_statement checkpoints_statement = {
    "retention.checkpoints",
    "DELETE FROM checkpoints WHERE state = 'deleted' AND created_at_ms < ? AND deleted_at_ms < ?"
    " ORDER BY created_at_ms LIMIT ?",
    false};
static const struct db_statement volumes_statement = {
    "retention.volumes",
    "DELETE FROM volumes WHERE id < ? AND state = 'deleted' AND deleted_at_ms < ?"
    " AND NOT EXISTS (SELECT 1 FROM sandbox_volumes m WHERE m.team_id = volumes.team_id"
    "  AND m.volume_id = volumes.id) ORDER BY id LIMIT ?",
    false};
/* Those of SSH (ssk_) stay: a certificate is refused by the revoked row that stands for it. */
static const struct db_statement keys_statement = {
    "retention.keys", "DELETE FROM api_keys WHERE id < ? AND revoked_at_ms < ? ORDER BY id LIMIT ?",
    false};

static const struct db_statement *const statements[] = {
    &operations_statement,  &sandboxes_statement, &sandbox_statement,
    &checkpoints_statement, &volumes_statement,   &keys_statement,
};
const struct db_statement_list retention_statements = DB_STATEMENT_LIST(statements);

/* floor: what was made from then on is not meant. */
static int remove_rows(struct db *db, const struct db_statement *statement, struct db_value floor,
                       int64_t ended_before_ms, bool *more, struct error **err)
{
    uint64_t gone;
    if (db_exec(db, statement, DB_ARGS(floor, db_i64(ended_before_ms), db_u64(RETENTION_BATCH)),
                &gone, err) < 0)
        return -1;
    *more |= gone == RETENTION_BATCH;
    return 0;
}

/* Each by its key: rows beside them are not locked. */
static int remove_sandboxes(struct db *db, int64_t ended_before_ms, bool *more, struct error **err)
{
    db_rows_auto *rows = NULL;
    char floor[ID_SIZE];
    unsigned count = 0;
    if (db_query(db, &sandboxes_statement,
                 DB_ARGS(db_text(id_floor("sbx_", ended_before_ms, floor)), db_i64(ended_before_ms),
                         db_u64(RETENTION_BATCH)),
                 &rows, err) < 0)
        return -1;
    for (; db_rows_next(rows); count++)
        if (db_exec(db, &sandbox_statement, DB_ARGS(db_text(db_get_text(rows, 0))), NULL, err) < 0)
            return -1;
    *more |= count == RETENTION_BATCH;
    return 0;
}

int retention_remove(struct db *db, int64_t ended_before_ms, bool *more, struct error **err)
{
    char operations[ID_SIZE], volumes[ID_SIZE], keys[ID_SIZE];
    id_floor("opr_", ended_before_ms, operations);
    id_floor("vol_", ended_before_ms, volumes);
    id_floor("key_", ended_before_ms, keys);
    *more = false;
    if (remove_rows(db, &operations_statement, db_text(operations), ended_before_ms, more, err) <
            0 ||
        remove_sandboxes(db, ended_before_ms, more, err) < 0 ||
        remove_rows(db, &checkpoints_statement, db_i64(ended_before_ms), ended_before_ms, more,
                    err) < 0 ||
        remove_rows(db, &volumes_statement, db_text(volumes), ended_before_ms, more, err) < 0)
        return -1;
    return remove_rows(db, &keys_statement, db_text(keys), ended_before_ms, more, err);
}
