/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "account/token_key.h"

#include "account/access_end.h"
#include "base/clock.h"
#include "base/str.h"

DB_STATEMENT(find_statement) = {
    "token_key.find", "SELECT 1 FROM sandbox_token_keys WHERE sandbox_id = ? AND api_key_id = ?",
    true};
/* The lock waits for a revocation that is under way. A later one finds the row. */
DB_STATEMENT(note_statement) = {
    "token_key.note",
    "INSERT INTO sandbox_token_keys (sandbox_id, api_key_id, ends_at_ms)"
    " SELECT ?, id, expires_at_ms FROM api_keys WHERE id = ? AND revoked_at_ms IS NULL"
    " AND (expires_at_ms IS NULL OR expires_at_ms > ?) LOCK IN SHARE MODE"
    " ON DUPLICATE KEY UPDATE ends_at_ms = VALUES(ends_at_ms)",
    false};
DB_STATEMENT(expired_statement) = {
    "token_key.expired",
    "SELECT api_key_id FROM sandbox_token_keys WHERE ends_at_ms <= ? ORDER BY ends_at_ms LIMIT 1",
    true};

struct note {
    const struct principal *principal;
    const char *sandbox_id;
};

static int note_body(struct db *db, void *context, struct error **err)
{
    const struct note *note = context;
    uint64_t affected;
    if (db_exec(db, &note_statement,
                DB_ARGS(db_text(note->sandbox_id), db_text(note->principal->key_id),
                        db_i64(clock_now_ms())),
                &affected, err) < 0)
        return -1;
    return affected ? 0
                    : error_set(err, ERR_UNAUTHORIZED,
                                "The API key was revoked, or has expired, during the request.");
}

static bool needs_row(const struct principal *principal)
{
    return str_starts_with(principal->key_id, "key_");
}

int token_key_note(struct db *db, const struct principal *principal, const char *sandbox_id,
                   struct error **err)
{
    struct note note = {principal, sandbox_id};
    bool found;
    if (!needs_row(principal))
        return 0;
    if (db_query_finds(db, &find_statement,
                       DB_ARGS(db_text(sandbox_id), db_text(principal->key_id)), &found, err) < 0)
        return -1;
    return found ? 0 : db_transaction(db, note_body, &note, err);
}

int token_key_note_new(struct db *db, const struct principal *principal, const char *sandbox_id,
                       struct error **err)
{
    struct note note = {principal, sandbox_id};
    return needs_row(principal) ? note_body(db, &note, err) : 0;
}

static int end_body(struct db *db, void *context, struct error **err)
{
    return access_end_of_key(db, context, NULL, err);
}

int token_key_expire_next(struct db *db, bool *worked, struct error **err)
{
    db_rows_auto *rows = NULL;
    char id[ID_SIZE];
    *worked = false;
    if (db_query(db, &expired_statement, DB_ARGS(db_i64(clock_now_ms())), &rows, err) < 0)
        return -1;
    if (!db_rows_next(rows))
        return 0;
    db_copy_text(id, rows, 0);
    *worked = true;
    return db_transaction(db, end_body, id, err);
}
