/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "account/team_key.h"

#include "account/access_revision.h"
#include "base/clock.h"
#include "base/mem.h"

#define REACHING                                                                               \
    " FROM memberships m JOIN api_keys k ON k.user_id = m.user_id AND k.revoked_at_ms IS NULL" \
    " LEFT JOIN api_key_teams r ON r.api_key_id = k.id AND r.team_id = m.team_id"
#define DOES_REACH " AND (k.all_teams = 1 OR r.team_id IS NOT NULL)"

static const struct db_statement list_statement = {
    "team_key.list",
    "SELECT k.id, u.name, k.name, k.ssh_public_key IS NOT NULL, k.can_write, k.all_teams,"
    " k.created_at_ms, k.expires_at_ms, k.last_used_at_ms" REACHING
    " JOIN users u ON u.id = m.user_id WHERE m.team_id = ?" DOES_REACH
    " AND (k.expires_at_ms IS NULL OR k.expires_at_ms > ?) ORDER BY k.id DESC LIMIT ?",
    true};
static const struct db_statement lock_statement = {"team_key.lock",
                                                   "SELECT k.user_id, k.all_teams" REACHING
                                                   " WHERE m.team_id = ? AND k.id = ?" DOES_REACH
                                                   " FOR UPDATE",
                                                   false};
static const struct db_statement name_others_statement = {
    "team_key.name_others",
    "INSERT INTO api_key_teams (api_key_id, team_id)"
    " SELECT ?, team_id FROM memberships WHERE user_id = ? AND team_id <> ?",
    false};
static const struct db_statement narrow_statement = {
    "team_key.narrow", "UPDATE api_keys SET all_teams = 0 WHERE id = ?", false};
static const struct db_statement leave_statement = {
    "team_key.leave", "DELETE FROM api_key_teams WHERE api_key_id = ? AND team_id = ?", false};
static const struct db_statement revoke_statement = {
    "team_key.revoke",
    "UPDATE api_keys SET revoked_at_ms = ?, ssh_fingerprint = NULL WHERE id = ?"
    " AND NOT EXISTS (SELECT 1 FROM api_key_teams WHERE api_key_id = ?)",
    false};

static const struct db_statement *const statements[] = {
    &list_statement,   &lock_statement,  &name_others_statement,
    &narrow_statement, &leave_statement, &revoke_statement,
};
const struct db_statement_list team_key_statements = DB_STATEMENT_LIST(statements);

int team_key_list(struct db *db, const char *team_id, struct team_key **keys, unsigned *count,
                  struct error **err)
{
    db_rows_auto *rows = NULL;
    *keys = NULL;
    *count = 0;
    if (db_query(db, &list_statement,
                 DB_ARGS(db_text(team_id), db_i64(clock_now_ms()), db_u64(TEAM_KEYS_MAX)), &rows,
                 err) < 0)
        return -1;
    while (db_rows_next(rows)) {
        *keys = xreallocarray(*keys, *count + 1, sizeof **keys);
        struct team_key *key = &(*keys)[(*count)++];
        db_copy_text(key->id, rows, 0);
        db_copy_text(key->user_name, rows, 1);
        db_copy_text(key->name, rows, 2);
        key->is_ssh = db_get_bool(rows, 3);
        key->can_write = db_get_bool(rows, 4);
        key->all_teams = db_get_bool(rows, 5);
        key->created_at_ms = db_get_i64(rows, 6);
        key->expires_at_ms = db_get_i64(rows, 7);
        key->last_used_at_ms = db_get_i64(rows, 8);
    }
    return 0;
}

struct shutting_out {
    const char *team_id, *key_id;
};

/* A key for every team becomes one that names them. */
static int name_others(struct db *db, const struct shutting_out *out, const char *user_id,
                       struct error **err)
{
    if (db_exec(db, &name_others_statement,
                DB_ARGS(db_text(out->key_id), db_text(user_id), db_text(out->team_id)), NULL,
                err) < 0)
        return -1;
    return db_exec(db, &narrow_statement, DB_ARGS(db_text(out->key_id)), NULL, err);
}

static int shut_out_body(struct db *db, void *context, struct error **err)
{
    const struct shutting_out *out = context;
    struct db_value key = db_text(out->key_id), team = db_text(out->team_id);
    char user_id[ID_SIZE];
    bool all_teams;
    {
        db_rows_auto *rows = NULL;
        if (db_query(db, &lock_statement, DB_ARGS(team, key), &rows, err) < 0)
            return -1;
        if (!db_rows_next(rows))
            return error_set(err, ERR_NOT_FOUND, "There is no such key.");
        db_copy_text(user_id, rows, 0);
        all_teams = db_get_bool(rows, 1);
    }
    if ((all_teams ? name_others(db, out, user_id, err)
                   : db_exec(db, &leave_statement, DB_ARGS(key, team), NULL, err)) < 0)
        return -1;
    if (db_exec(db, &revoke_statement, DB_ARGS(db_i64(clock_now_ms()), key, key), NULL, err) < 0)
        return -1;
    return access_revision_bump(db, err);
}

int team_key_shut_out(struct db *db, const char *team_id, const char *key_id, struct error **err)
{
    struct shutting_out out = {team_id, key_id};
    return db_transaction(db, shut_out_body, &out, err);
}
