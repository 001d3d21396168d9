/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/clock.h"
#include "sandbox/kept_log.h"

/* A pause adds one log, so deleting this many at a time is enough unless they are tiny. */
#define TRIMMED_AT_ONCE 64

/* The lock waits for a delete of the sandbox; then no log is stored. */
DB_STATEMENT(insert_statement) = {
    "kept_log.insert",
    "REPLACE INTO kept_logs (sandbox_id, team_id, kept_at_ms, size, sealed)"
    " SELECT s.id, s.team_id, ?, ?, ? FROM sandboxes s"
    " WHERE s.id = ? AND s.incarnation = ? AND s.state = 'stopping' LOCK IN SHARE MODE"};
DB_STATEMENT(drop_statement) = {"kept_log.drop", "DELETE FROM kept_logs WHERE sandbox_id = ?"};
DB_STATEMENT(get_statement) = {"kept_log.get", "SELECT sealed FROM kept_logs WHERE sandbox_id = ?"};
DB_STATEMENT(size_statement) = {
    "kept_log.size",
    "SELECT CAST(COALESCE(SUM(size), 0) AS UNSIGNED) FROM kept_logs WHERE team_id = ?"};
DB_STATEMENT(oldest_statement) = {
    "kept_log.oldest",
    "SELECT sandbox_id, size FROM kept_logs WHERE team_id = ? ORDER BY kept_at_ms LIMIT ?"};

int kept_log_insert(struct db *db, const struct sandbox *sandbox, const struct buffer *sealed,
                    struct error **err)
{
    return db_exec(db, &insert_statement,
                   DB_ARGS(db_i64(clock_now_ms()), db_u64(sealed->size),
                           db_blob(sealed->data, sealed->size), db_text(sandbox->id),
                           db_u64(sandbox->incarnation)),
                   NULL, err);
}

int kept_log_drop(struct db *db, const char *sandbox_id, struct error **err)
{
    return db_exec(db, &drop_statement, DB_ARGS(db_text(sandbox_id)), NULL, err);
}

int kept_log_get(struct db *db, const char *sandbox_id, struct buffer *sealed, struct error **err)
{
    db_rows_auto *rows = NULL;
    size_t size;
    if (db_query(db, &get_statement, DB_ARGS(db_text(sandbox_id)), &rows, err) < 0)
        return -1;
    if (!db_rows_next(rows))
        return 0;
    const void *data = db_get_blob(rows, 0, &size);
    if (buffer_append(sealed, data, size) < 0)
        return error_set(err, ERR_INTERNAL, "the saved log of %s is too large", sandbox_id);
    return 0;
}

static int read_size(struct db *db, const char *team_id, uint64_t *size, struct error **err)
{
    return DB_NUMBER(db, &size_statement, DB_ARGS(db_text(team_id)), size, err);
}

int kept_log_trim(struct db *db, const char *team_id, uint64_t most, struct error **err)
{
    db_rows_auto *rows = NULL;
    uint64_t size;
    if (read_size(db, team_id, &size, err) < 0)
        return -1;
    if (size <= most)
        return 0;
    if (db_query(db, &oldest_statement, DB_ARGS(db_text(team_id), db_u64(TRIMMED_AT_ONCE)), &rows,
                 err) < 0)
        return -1;
    while (size > most && db_rows_next(rows)) {
        if (kept_log_drop(db, db_get_text(rows, 0), err) < 0)
            return -1;
        size -= db_get_u64(rows, 1);
    }
    return 0;
}
