/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "account/token_key.h"

#include "account/access_end.h"
#include "account/access_teams.h"
#include "base/clock.h"
#include "base/str.h"

#define AGAIN_AFTER_MS 2000 /* after a failure */

DB_STATEMENT(look_statement) = {
    "token_key.look",
    "SELECT a.revision, t.api_key_id IS NOT NULL FROM access_revision a"
    " LEFT JOIN sandbox_token_keys t ON t.sandbox_id = ? AND t.api_key_id = ? WHERE a.id = 1"};
/* The lock waits for a revocation that is under way. A later one finds the row. */
DB_STATEMENT(note_statement) = {
    "token_key.note",
    "INSERT INTO sandbox_token_keys (sandbox_id, api_key_id, ends_at_ms)"
    " SELECT ?, id, expires_at_ms FROM api_keys WHERE id = ? AND revoked_at_ms IS NULL"
    " AND (expires_at_ms IS NULL OR expires_at_ms > ?) LOCK IN SHARE MODE"
    " ON DUPLICATE KEY UPDATE ends_at_ms = VALUES(ends_at_ms)"};
DB_STATEMENT(expired_statement) = {
    "token_key.expired",
    "SELECT api_key_id FROM sandbox_token_keys WHERE ends_at_ms <= ? ORDER BY ends_at_ms LIMIT 1"};
DB_STATEMENT(defer_statement) = {
    "token_key.defer",
    "UPDATE sandbox_token_keys SET ends_at_ms = ? WHERE api_key_id = ? AND ends_at_ms <= ?"};

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

/* Read the access revision, and whether the key has its row. */
static int look(struct db *db, const struct note *note, uint64_t *revision, bool *found,
                struct error **err)
{
    db_rows_auto *rows = NULL;
    *revision = 0;
    *found = false;
    if (db_query(db, &look_statement,
                 DB_ARGS(db_text(note->sandbox_id), db_text(note->principal->key_id)), &rows,
                 err) < 0)
        return -1;
    if (!db_rows_next(rows))
        return error_set(err, ERR_INTERNAL, "the table access_revision has no row");
    *revision = db_get_u64(rows, 0);
    *found = db_get_bool(rows, 1);
    return 0;
}

/* Check the rights of this moment: those of the principal may be as old as the request. */
static int check_access(struct db *db, const struct principal *principal, const char *team_id,
                        struct error **err)
{
    struct principal now;
    const char *id = *principal->key_id ? principal->key_id : principal->login_id;
    if (access_teams_read(db, id, &now, err) < 0)
        return -1;
    now.can_write = principal->can_write;
    bool may = principal_writes(&now, team_id);
    principal_deinit(&now);
    return may ? 0
               : error_set(err, ERR_INSUFFICIENT_SCOPE,
                           "Your access to the sandbox's team ended during the request.");
}

int token_key_note(struct db *db, const struct principal *principal, const char *sandbox_id,
                   const char *team_id, struct error **err)
{
    struct note note = {principal, sandbox_id};
    uint64_t revision;
    bool found;
    if (look(db, &note, &revision, &found, err) < 0 ||
        (revision != principal->revision && check_access(db, principal, team_id, err) < 0))
        return -1;
    return found || !needs_row(principal) ? 0 : db_transaction(db, note_body, &note, err);
}

int token_key_note_new(struct db *db, const struct principal *principal, const char *sandbox_id,
                       struct error **err)
{
    struct note note = {principal, sandbox_id};
    return needs_row(principal) ? note_body(db, &note, err) : 0;
}

static int end_body(struct db *db, void *context, struct error **err)
{
    unsigned left = ACCESS_END_AT_ONCE;
    return access_end_of_key(db, context, NULL, &left, err);
}

int token_key_expire_next(struct db *db, bool *worked, struct error **err)
{
    db_rows_auto *rows = NULL;
    error_auto ignored = NULL; /* the key stays due */
    char id[ID_SIZE];
    int64_t now_ms = clock_now_ms();
    *worked = false;
    if (db_query(db, &expired_statement, DB_ARGS(db_i64(now_ms)), &rows, err) < 0)
        return -1;
    if (!db_rows_next(rows))
        return 0;
    db_copy_text(id, rows, 0);
    *worked = true;
    int result = db_transaction(db, end_body, id, err);
    /* A row of a sandbox of this key may be locked for long. */
    if (result < 0)
        *worked = db_exec(db, &defer_statement,
                          DB_ARGS(db_i64(clock_in_ms(AGAIN_AFTER_MS)), db_text(id), db_i64(now_ms)),
                          NULL, &ignored) == 0;
    return result;
}
