/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "retention/retention_row.h"

#include "base/ulid.h"

/* Identifiers begin with the time of creation, so the statement does not even read young rows. It
 * reads old rows that ended lately again each time; there are few. */
DB_STATEMENT(operations_statement) = {
    "retention.operations",
    "DELETE FROM operations WHERE id < ? AND state <> 'running' AND finished_at_ms < ?"
    " ORDER BY id LIMIT ?"};
/* All destroyed sandboxes have deadline_at_ms NULL. With this condition the index continues in the
 * order of identifiers. The database deletes the rows that refer to a sandbox (ON DELETE
 * CASCADE). */
DB_STATEMENT(sandboxes_statement) = {
    "retention.sandboxes",
    "SELECT id FROM sandboxes FORCE INDEX (sandboxes_deadline)"
    " WHERE state = 'destroyed' AND deadline_at_ms IS NULL AND id < ? AND updated_at_ms < ?"
    " AND reserved = 0 AND operation_id IS NULL ORDER BY id LIMIT ?"};
DB_STATEMENT(sandbox_statement) = {"retention.sandbox",
                                   "DELETE FROM sandboxes WHERE id = ? AND state = 'destroyed'"};
DB_STATEMENT(sandbox_operations_statement) = {
    "retention.sandbox_operations",
    "DELETE FROM operations WHERE sandbox_id = ? AND state <> 'running'"};
DB_STATEMENT(versions_statement) = {
    "retention.versions",
    "SELECT v.id, t.id FROM template_versions v JOIN templates t ON t.id = v.template_id"
    " WHERE v.state = 'deleted' AND v.id < ? AND COALESCE(v.finished_at_ms, 0) < "
    "?" RETENTION_FREE_VERSION " ORDER BY v.id LIMIT ?"};
DB_STATEMENT(version_recipe_statement) = {
    "retention.version_recipe",
    "DELETE FROM template_recipes WHERE template_version_id = ? AND state = 'done'"};
DB_STATEMENT(version_statement) = {
    "retention.version", "DELETE FROM template_versions WHERE id = ? AND state = 'deleted'"};
DB_STATEMENT(template_statement) = {
    "retention.template",
    "DELETE FROM templates WHERE id = ? AND slug = id"
    " AND NOT EXISTS (SELECT 1 FROM template_versions v WHERE v.template_id = templates.id)"};
DB_STATEMENT(checkpoints_statement) = {
    "retention.checkpoints",
    "DELETE FROM checkpoints WHERE state = 'deleted' AND created_at_ms < ? AND deleted_at_ms < ?"
    " ORDER BY created_at_ms LIMIT ?"};
DB_STATEMENT(volumes_statement) = {
    "retention.volumes",
    "DELETE FROM volumes WHERE id < ? AND state = 'deleted' AND deleted_at_ms < ?"
    " AND NOT EXISTS (SELECT 1 FROM sandbox_volumes m WHERE m.team_id = volumes.team_id"
    "  AND m.volume_id = volumes.id) ORDER BY id LIMIT ?"};
/* id >= ?: the first identifier of the kind. */
DB_STATEMENT(keys_statement) = {
    "retention.keys",
    "DELETE FROM api_keys WHERE id >= ? AND id < ? AND revoked_at_ms < ? ORDER BY id LIMIT ?"};

/* floor: rows created from then on stay. */
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

int retention_remove_sandboxes(struct db *db, struct db_rows *rows, uint64_t *gone,
                               struct error **err)
{
    for (*gone = 0; db_rows_next(rows); ++*gone) {
        struct db_value id = db_text(db_get_text(rows, 0));
        if (db_exec(db, &sandbox_operations_statement, DB_ARGS(id), NULL, err) < 0 ||
            db_exec(db, &sandbox_statement, DB_ARGS(id), NULL, err) < 0)
            return -1;
    }
    return 0;
}

int retention_remove_versions(struct db *db, struct db_rows *rows, uint64_t *gone,
                              struct error **err)
{
    for (*gone = 0; db_rows_next(rows); ++*gone) {
        struct db_value id = db_text(db_get_text(rows, 0));
        if (db_exec(db, &version_recipe_statement, DB_ARGS(id), NULL, err) < 0 ||
            db_exec(db, &version_statement, DB_ARGS(id), NULL, err) < 0 ||
            db_exec(db, &template_statement, DB_ARGS(db_text(db_get_text(rows, 1))), NULL, err) < 0)
            return -1;
    }
    return 0;
}

static int remove_listed(struct db *db, const struct db_statement *statement, const char *prefix,
                         retention_remove_listed *remove, int64_t ended_before_ms, bool *more,
                         struct error **err)
{
    db_rows_auto *rows = NULL;
    char floor[ID_SIZE];
    uint64_t gone;
    id_floor(prefix, ended_before_ms, floor);
    if (db_query(db, statement,
                 DB_ARGS(db_text(floor), db_i64(ended_before_ms), db_u64(RETENTION_BATCH)), &rows,
                 err) < 0 ||
        remove(db, rows, &gone, err) < 0)
        return -1;
    *more |= gone == RETENTION_BATCH;
    return 0;
}

/* Delete revoked keys of one kind: API keys or SSH keys. */
static int remove_keys(struct db *db, const char *prefix, int64_t ended_before_ms, bool *more,
                       struct error **err)
{
    char floor[ID_SIZE];
    uint64_t gone;
    id_floor(prefix, ended_before_ms, floor);
    if (db_exec(db, &keys_statement,
                DB_ARGS(db_text(prefix), db_text(floor), db_i64(ended_before_ms),
                        db_u64(RETENTION_BATCH)),
                &gone, err) < 0)
        return -1;
    *more |= gone == RETENTION_BATCH;
    return 0;
}

int retention_remove(struct db *db, int64_t ended_before_ms, bool *more, struct error **err)
{
    char operations[ID_SIZE], volumes[ID_SIZE];
    id_floor("opr_", ended_before_ms, operations);
    id_floor("vol_", ended_before_ms, volumes);
    *more = false;
    if (remove_rows(db, &operations_statement, db_text(operations), ended_before_ms, more, err) <
            0 ||
        remove_listed(db, &sandboxes_statement, "sbx_", retention_remove_sandboxes, ended_before_ms,
                      more, err) < 0 ||
        remove_listed(db, &versions_statement, "tpv_", retention_remove_versions, ended_before_ms,
                      more, err) < 0 ||
        remove_rows(db, &checkpoints_statement, db_i64(ended_before_ms), ended_before_ms, more,
                    err) < 0 ||
        remove_rows(db, &volumes_statement, db_text(volumes), ended_before_ms, more, err) < 0 ||
        remove_keys(db, "key_", ended_before_ms, more, err) < 0 ||
        remove_keys(db, "ssk_", ended_before_ms, more, err) < 0)
        return -1;
    return retention_team_remove(db, more, err);
}
