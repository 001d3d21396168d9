/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "account/team_key.h"

#include "account/access_end.h"
#include "account/access_revision.h"
#include "base/clock.h"

#define REACHING                                                                               \
    " FROM memberships m JOIN api_keys k ON k.user_id = m.user_id AND k.revoked_at_ms IS NULL" \
    " LEFT JOIN api_key_teams r ON r.api_key_id = k.id AND r.team_id = m.team_id"              \
    " LEFT JOIN api_key_uses s ON s.api_key_id = k.id AND s.team_id = m.team_id"
/* A row of api_key_teams adds the team to a key that names its teams, and excludes the team from a
 * key for every team. */
#define DOES_REACH " AND (k.all_teams <> (r.team_id IS NOT NULL))"
#define IS_SEEN    " AND (k.all_teams = 0 OR s.team_id IS NOT NULL OR k.user_id = ?)"

DB_STATEMENT(list_statement) = {
    "team_key.list",
    "SELECT k.id, u.name, k.name, k.ssh_public_key IS NOT NULL, k.can_write, k.all_teams,"
    " k.login_id IS NOT NULL, k.created_at_ms, k.expires_at_ms,"
    " IF(k.user_id = ?, k.last_used_at_ms, s.last_used_at_ms)" REACHING
    " JOIN users u ON u.id = m.user_id WHERE m.team_id = ?" DOES_REACH IS_SEEN
    " AND (k.expires_at_ms IS NULL OR k.expires_at_ms > ?) ORDER BY k.id DESC LIMIT ?"};
DB_STATEMENT(lock_statement) = {
    "team_key.lock", "SELECT k.all_teams, k.user_id" REACHING
                     " WHERE m.team_id = ? AND k.id = ?" DOES_REACH IS_SEEN " FOR UPDATE"};
DB_STATEMENT(exclude_statement) = {
    "team_key.exclude",
    "INSERT INTO api_key_teams (api_key_id, team_id)"
    " SELECT ?, id FROM teams WHERE id = ? AND removed_at_ms IS NULL LOCK IN SHARE MODE"};
DB_STATEMENT(leave_statement) = {"team_key.leave",
                                 "DELETE FROM api_key_teams WHERE api_key_id = ? AND team_id = ?"};
DB_STATEMENT(revoke_statement) = {
    "team_key.revoke",
    "UPDATE api_keys SET revoked_at_ms = ?, ssh_fingerprint = NULL WHERE id = ? AND all_teams = 0"
    " AND NOT EXISTS (SELECT 1 FROM api_key_teams WHERE api_key_id = ?)"};

static void read_team_key(const struct db_rows *rows, struct team_key *key)
{
    db_copy_text(key->id, rows, 0);
    db_copy_text(key->user_name, rows, 1);
    db_copy_text(key->name, rows, 2);
    key->is_ssh = db_get_bool(rows, 3);
    key->can_write = db_get_bool(rows, 4);
    key->all_teams = db_get_bool(rows, 5);
    key->is_bound = db_get_bool(rows, 6);
    key->created_at_ms = db_get_i64(rows, 7);
    key->expires_at_ms = db_get_i64(rows, 8);
    key->last_used_at_ms = db_get_i64(rows, 9);
}

int team_key_list(struct db *db, const char *team_id, const char *owner_id, struct team_key **keys,
                  unsigned *count, struct error **err)
{
    struct db_value owner = db_text(owner_id);
    return DB_LIST(
        db, &list_statement,
        DB_ARGS(owner, db_text(team_id), owner, db_i64(clock_now_ms()), db_u64(TEAM_KEYS_MAX)),
        read_team_key, keys, count, err);
}

struct exclusion {
    const char *team_id, *owner_id, *key_id;
};

static int exclude_body(struct db *db, void *context, struct error **err)
{
    const struct exclusion *exclusion = context;
    struct db_value key = db_text(exclusion->key_id), team = db_text(exclusion->team_id);
    unsigned left = ACCESS_END_AT_ONCE;
    char user_id[ID_SIZE];
    bool all_teams;
    {
        db_rows_auto *rows = NULL;
        if (db_query(db, &lock_statement, DB_ARGS(team, key, db_text(exclusion->owner_id)), &rows,
                     err) < 0)
            return -1;
        if (!db_rows_next(rows))
            return error_set(err, ERR_NOT_FOUND, "There is no such key.");
        all_teams = db_get_bool(rows, 0);
        db_copy_text(user_id, rows, 1);
    }
    if (db_exec(db, all_teams ? &exclude_statement : &leave_statement, DB_ARGS(key, team), NULL,
                err) < 0 ||
        db_exec(db, &revoke_statement, DB_ARGS(db_i64(clock_now_ms()), key, key), NULL, err) < 0 ||
        access_end_of_key(db, exclusion->key_id, exclusion->team_id, &left, err) < 0)
        return -1;
    return access_revision_bump(db, user_id, err);
}

int team_key_exclude(struct db *db, const char *team_id, const char *owner_id, const char *key_id,
                     struct error **err)
{
    struct exclusion exclusion = {team_id, owner_id, key_id};
    return db_transaction(db, exclude_body, &exclusion, err);
}
