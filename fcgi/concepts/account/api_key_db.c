/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "account/access_end.h"
#include "account/access_revision.h"
#include "account/api_key_row.h"
#include "account/principal_row.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/panic.h"

#define LIST_ROWS_MAX   200000
#define EXPIRED_AT_ONCE 100

/* Find a key, with one row for each team of the user. The team is NULL where the key does not reach
 * it. A key that names its teams has a row in api_key_teams for each; a key for every team has a
 * row for each team whose owner excluded it.
 *
 * A key stays valid when its user has left all teams, and is invalid while its user is disabled. */
DB_STATEMENT(find_statement) = {
    "api_key.find",
    "SELECT k.id, k.user_id, k.can_write, k.hash_key_id, k.hash, k.expires_at_ms, k.revoked_at_ms,"
    " k.last_used_at_ms, u.personal_team_id, t.id, t.slug, t.plan, m.role, k.all_teams,"
    " k.login_id"
    " FROM api_keys k JOIN users u ON u.id = k.user_id AND u.disabled_at_ms IS NULL"
    " LEFT JOIN memberships m ON m.user_id = k.user_id"
    " LEFT JOIN api_key_teams r ON r.api_key_id = k.id AND r.team_id = m.team_id"
    " LEFT JOIN teams t ON t.id = m.team_id AND k.all_teams <> (r.team_id IS NOT NULL)"
    " WHERE k.lookup = ? LIMIT ?"};
DB_STATEMENT(used_statement) = {
    "api_key.used", "UPDATE api_keys SET last_used_at_ms = ?"
                    " WHERE id = ? AND (last_used_at_ms IS NULL OR last_used_at_ms <= ?)"};
DB_STATEMENT(member_statement) = {
    "api_key.member",
    "SELECT t.id, t.slug, t.plan FROM teams t JOIN memberships m ON m.team_id = t.id"
    " WHERE m.user_id = ? AND t.slug = ?"};
DB_STATEMENT(insert_statement) = {
    "api_key.insert",
    "INSERT INTO api_keys (id, lookup, user_id, name, can_write, all_teams, hash_key_id, hash,"
    " created_at_ms, expires_at_ms, ssh_public_key, ssh_fingerprint, login_id, created_by)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"};
/* Lock the user's row: keys that are made at the same time cannot pass the limit together. */
DB_STATEMENT(lock_user_statement) = {"api_key.lock_user",
                                     "SELECT id FROM users WHERE id = ? FOR UPDATE"};
DB_STATEMENT(valid_statement) = {
    "api_key.valid", "SELECT 1 FROM api_keys WHERE id = ? AND revoked_at_ms IS NULL FOR UPDATE"};
DB_STATEMENT(count_statement) = {
    "api_key.count", "SELECT COUNT(*) FROM api_keys WHERE user_id = ? AND revoked_at_ms IS NULL"};
DB_STATEMENT(expired_statement) = {
    "api_key.expired", "SELECT id FROM api_keys WHERE user_id = ? AND revoked_at_ms IS NULL"
                       " AND expires_at_ms <= ? ORDER BY id LIMIT ?"};
/* Trim API keys (key_) and SSH keys (ssk_) separately: ids of one kind sort by time. */
DB_STATEMENT(old_statement) = {
    "api_key.old",
    "SELECT id FROM api_keys WHERE user_id = ? AND revoked_at_ms IS NOT NULL AND id LIKE ?"
    " ORDER BY id DESC LIMIT 1 OFFSET ?"};
DB_STATEMENT(trim_statement) = {
    "api_key.trim",
    "DELETE FROM api_keys WHERE user_id = ? AND revoked_at_ms IS NOT NULL AND id LIKE ?"
    " AND id <= ?"};
/* Then the keys of a deleted one count as created by the key that had created it. */
DB_STATEMENT(inherit_statement) = {
    "api_key.inherit",
    "UPDATE api_keys c JOIN api_keys k ON k.id = c.created_by SET c.created_by = k.created_by"
    " WHERE k.user_id = ? AND k.revoked_at_ms IS NOT NULL AND k.id LIKE ? AND k.id <= ?"};
DB_STATEMENT(insert_team_statement) = {
    "api_key.insert_team",
    "INSERT INTO api_key_teams (api_key_id, team_id)"
    " SELECT ?, id FROM teams WHERE id = ? AND removed_at_ms IS NULL LOCK IN SHARE MODE"};
/* The lock waits for an owner who excludes the key at this moment. */
DB_STATEMENT(excluded_statement) = {
    "api_key.excluded",
    "SELECT t.id, t.slug, t.plan FROM api_keys k LEFT JOIN api_key_teams r ON r.api_key_id = k.id"
    " LEFT JOIN teams t ON t.id = r.team_id WHERE k.id = ? ORDER BY t.slug FOR UPDATE"};

#define LIST_COLUMNS                                                                    \
    "SELECT k.id, u.name, k.lookup, k.name, k.can_write, k.all_teams, k.created_at_ms," \
    " k.expires_at_ms, k.revoked_at_ms, k.last_used_at_ms, t.id, t.slug, t.plan,"       \
    " k.ssh_fingerprint, k.ssh_public_key, k.login_id IS NOT NULL, k.created_by"        \
    " FROM api_keys k JOIN users u ON u.id = k.user_id"                                 \
    " LEFT JOIN api_key_teams r ON r.api_key_id = k.id LEFT JOIN teams t ON t.id = r.team_id"
DB_STATEMENT(list_statement) = {"api_key.list", LIST_COLUMNS
                                " WHERE (k.ssh_public_key IS NOT NULL) = ? AND k.user_id = ?"
                                " ORDER BY k.id DESC, t.slug LIMIT ?"};
DB_STATEMENT(get_statement) = {"api_key.get", LIST_COLUMNS
                               " WHERE k.id = ? AND k.user_id = ? ORDER BY t.slug LIMIT ?"};
DB_STATEMENT(look_used_statement) = {"api_key.look_used",
                                     "SELECT a.revision, k.last_used_at_ms FROM access_revision a"
                                     " LEFT JOIN api_keys k ON k.id = ? WHERE a.id = 1"};
DB_STATEMENT(list_all_statement) = {
    "api_key.list_all",
    LIST_COLUMNS " WHERE (k.ssh_public_key IS NOT NULL) = ? ORDER BY k.id DESC, t.slug LIMIT ?"};
DB_STATEMENT(revoke_statement) = {"api_key.revoke",
                                  "UPDATE api_keys SET revoked_at_ms = ?, ssh_fingerprint = NULL"
                                  " WHERE id = ? AND user_id = ? AND revoked_at_ms IS NULL"};
DB_STATEMENT(revoke_any_statement) = {
    "api_key.revoke_any", "UPDATE api_keys SET revoked_at_ms = ?, ssh_fingerprint = NULL"
                          " WHERE id = ? AND revoked_at_ms IS NULL"};
DB_STATEMENT(origins_statement) = {
    "api_key.origins", "SELECT id, created_by FROM api_keys"
                       " WHERE user_id = (SELECT user_id FROM api_keys WHERE id = ?) ORDER BY id"};
DB_STATEMENT(list_with_origins_statement) = {"api_key.list_with_origins", LIST_COLUMNS
                                             " WHERE k.user_id = ? ORDER BY k.id, t.slug LIMIT ?"};
DB_STATEMENT(user_of_statement) = {"api_key.user_of", "SELECT user_id FROM api_keys WHERE id = ?"};
/* Free the fingerprint of an expired key when a user adds this public key again. */
DB_STATEMENT(free_fingerprint_statement) = {
    "api_key.free_fingerprint",
    "UPDATE api_keys SET ssh_fingerprint = NULL WHERE ssh_fingerprint = ? AND expires_at_ms <= ?"};
DB_STATEMENT(login_statement) = {"api_key.ssh_login",
                                 "SELECT k.id, k.lookup, k.user_id, u.name, k.expires_at_ms"
                                 " FROM api_keys k"
                                 " JOIN users u ON u.id = k.user_id AND u.disabled_at_ms IS NULL"
                                 " WHERE k.ssh_fingerprint = ? AND k.revoked_at_ms IS NULL"
                                 " AND (k.expires_at_ms IS NULL OR k.expires_at_ms > ?)"};

/* Append the team in three columns from `first`; NULL: append nothing. */
static void append_team(const struct db_rows *rows, unsigned first, struct team **teams,
                        unsigned *count)
{
    if (db_is_null(rows, first))
        return;
    *teams = xreallocarray(*teams, *count + 1, sizeof **teams);
    struct team *team = &(*teams)[(*count)++];
    *team = (struct team){0};
    db_copy_text(team->id, rows, first);
    db_copy_text(team->slug, rows, first + 1);
    db_copy_text(team->plan, rows, first + 2);
}

/* --- authentication --- */

void principal_row_append_team(const struct db_rows *rows, unsigned first,
                               struct principal *principal)
{
    unsigned before = principal->team_count;
    append_team(rows, first, &principal->teams, &principal->team_count);
    if (principal->team_count > before &&
        team_role_parse(db_get_text(rows, first + 3), &principal->teams[before].role) < 0)
        panic("a membership has an unknown role");
}

int principal_row_check_count(const struct principal *principal, unsigned count, struct error **err)
{
    if (count > PRINCIPAL_TEAMS_MAX)
        return error_set(err, ERR_INTERNAL, "user %s is a member of more than %d teams",
                         principal->user_id, PRINCIPAL_TEAMS_MAX);
    return 0;
}

static int read_credential(const struct db_rows *rows, struct api_key_credential *credential,
                           struct error **err)
{
    size_t size;
    const void *hash = db_get_blob(rows, 4, &size);
    if (size != sizeof credential->hash)
        return error_set(err, ERR_INTERNAL, "the hash of API key %s has a wrong size",
                         db_get_text(rows, 0));
    memcpy(credential->hash, hash, sizeof credential->hash);
    credential->found = true;
    credential->hash_key_id = (uint16_t)db_get_u64(rows, 3);
    credential->expires_at_ms = db_get_i64(rows, 5);
    credential->revoked_at_ms = db_get_i64(rows, 6);
    credential->last_used_at_ms = db_get_i64(rows, 7);
    return 0;
}

int api_key_row_find(struct db *db, const char *lookup, struct api_key_credential *credential,
                     struct principal *principal, struct error **err)
{
    db_rows_auto *rows = NULL;
    unsigned count = 0;
    *credential = (struct api_key_credential){0};
    if (db_query(db, &find_statement, DB_ARGS(db_text(lookup), db_u64(PRINCIPAL_TEAMS_MAX + 1)),
                 &rows, err) < 0)
        return -1;
    for (; db_rows_next(rows); count++) {
        if (count == 0) {
            if (read_credential(rows, credential, err) < 0)
                return -1;
            db_copy_text(principal->key_id, rows, 0);
            db_copy_text(principal->user_id, rows, 1);
            principal->can_write = db_get_bool(rows, 2);
            db_copy_text(principal->personal_team_id, rows, 8);
            principal->all_teams = db_get_bool(rows, 13);
            if (!db_is_null(rows, 14))
                db_copy_text(principal->bound_to, rows, 14);
            principal->expires_at_ms = credential->expires_at_ms;
        }
        principal_row_append_team(rows, 9, principal);
    }
    return principal_row_check_count(principal, count, err);
}

int api_key_row_used(struct db *db, const char *id, int64_t now_ms, int64_t before_ms,
                     struct error **err)
{
    return db_exec(db, &used_statement, DB_ARGS(db_i64(now_ms), db_text(id), db_i64(before_ms)),
                   NULL, err);
}

/* --- revoking one --- */

struct revocation {
    const char *user_id, *id;
    bool with_created;
    unsigned revoked; /* keys that were valid until now */
    unsigned left;    /* of access_end_of_key() */
};

/* A key that is revoked already counts as none. */
static int revoke_one(struct db *db, struct revocation *revocation, const char *id,
                      struct error **err)
{
    const char *user_id = revocation->user_id;
    struct db_value now = db_i64(clock_now_ms()), key = db_text(id);
    uint64_t affected;
    int result = user_id ? db_exec(db, &revoke_statement, DB_ARGS(now, key, db_text(user_id)),
                                   &affected, err)
                         : db_exec(db, &revoke_any_statement, DB_ARGS(now, key), &affected, err);
    if (result < 0 || !affected)
        return result;
    revocation->revoked++;
    return access_end_of_key(db, id, NULL, &revocation->left, err);
}

/* --- making keys --- */

struct insert {
    const struct api_key_request *request;
    uint16_t hash_key_id;
    const unsigned char *hash;
    struct api_key *key;
};

static bool names_team(const struct api_key *key, const char *slug)
{
    for (unsigned i = 0; i < key->team_count; i++)
        if (!strcmp(key->teams[i].slug, slug))
            return true;
    return false;
}

static int insert_last_team(struct db *db, const struct api_key *key, struct error **err)
{
    return db_exec(db, &insert_team_statement,
                   DB_ARGS(db_text(key->id), db_text(key->teams[key->team_count - 1].id)), NULL,
                   err);
}

static int insert_team(struct db *db, struct insert *insert, unsigned index, struct error **err)
{
    const char *slug = insert->request->team_slugs[index];
    struct api_key *key = insert->key;
    if (names_team(key, slug))
        return 0;
    db_rows_auto *rows = NULL;
    if (db_query(db, &member_statement, DB_ARGS(db_text(insert->request->user_id), db_text(slug)),
                 &rows, err) < 0)
        return -1;
    if (!db_rows_next(rows)) {
        char field[32];
        snprintf(field, sizeof field, "/teams/%u", index);
        return error_set_field(err, ERR_TEAM_FORBIDDEN, field,
                               "The user of this key is not a member of this team.");
    }
    append_team(rows, 0, &key->teams, &key->team_count);
    return insert_last_team(db, key, err);
}

/* Exclude the key from the teams whose owners excluded the key that asks. */
static int insert_excluded(struct db *db, const char *by_key_id, struct api_key *key,
                           struct error **err)
{
    db_rows_auto *rows = NULL;
    if (db_query(db, &excluded_statement, DB_ARGS(db_text(by_key_id)), &rows, err) < 0)
        return -1;
    while (db_rows_next(rows)) {
        append_team(rows, 0, &key->teams, &key->team_count);
        if (key->team_count && insert_last_team(db, key, err) < 0)
            return -1;
    }
    return 0;
}

/* Revoke expired keys, which make room for new ones: a program that creates a key for each of its
 * runs never revokes one. Expired keys are refused already, so no cached copy becomes wrong. */
static int revoke_expired(struct db *db, const char *user_id, unsigned *revoked, struct error **err)
{
    db_rows_auto *rows = NULL;
    struct revocation revocation = {.user_id = user_id, .left = ACCESS_END_AT_ONCE};
    if (db_query(db, &expired_statement,
                 DB_ARGS(db_text(user_id), db_i64(clock_now_ms()), db_u64(EXPIRED_AT_ONCE)), &rows,
                 err) < 0)
        return -1;
    while (db_rows_next(rows))
        if (revoke_one(db, &revocation, db_get_text(rows, 0), err) < 0)
            return -1;
    *revoked = revocation.revoked;
    return 0;
}

static int check_room(struct db *db, const char *user_id, struct error **err)
{
    db_rows_auto *locked = NULL;
    uint64_t count;
    unsigned expired;
    if (db_query(db, &lock_user_statement, DB_ARGS(db_text(user_id)), &locked, err) < 0 ||
        DB_NUMBER(db, &count_statement, DB_ARGS(db_text(user_id)), &count, err) < 0)
        return -1;
    if (count < API_KEYS_MAX)
        return 0;
    if (revoke_expired(db, user_id, &expired, err) < 0)
        return -1;
    if (count - expired < API_KEYS_MAX)
        return 0;
    return error_set(err, ERR_INVALID_REQUEST,
                     "A user has at most %d API keys and SSH keys; revoke one first.",
                     API_KEYS_MAX);
}

/* A key that is being revoked with all that it created gets no further ones. Both sides lock the
 * user's row. */
static int check_asker(struct db *db, const char *by_key_id, struct error **err)
{
    bool valid = true;
    if (by_key_id &&
        db_query_finds(db, &valid_statement, DB_ARGS(db_text(by_key_id)), &valid, err) < 0)
        return -1;
    return valid ? 0 : error_set(err, ERR_UNAUTHORIZED, "The API key of this request is revoked.");
}

/* Delete old revoked keys: a user who creates and revokes keys in turn cannot fill the table. */
static int trim_revoked(struct db *db, const char *user_id, const char *ids, struct error **err)
{
    db_rows_auto *rows = NULL;
    if (db_query(db, &old_statement,
                 DB_ARGS(db_text(user_id), db_text(ids), db_u64(API_KEYS_REVOKED_MAX)), &rows,
                 err) < 0)
        return -1;
    if (!db_rows_next(rows))
        return 0;
    const struct db_value last = db_text(db_get_text(rows, 0));
    uint64_t changed;
    do {
        if (db_exec(db, &inherit_statement, DB_ARGS(db_text(user_id), db_text(ids), last), &changed,
                    err) < 0)
            return -1;
    } while (changed);
    return db_exec(db, &trim_statement, DB_ARGS(db_text(user_id), db_text(ids), last), NULL, err);
}

static int insert_body(struct db *db, void *context, struct error **err)
{
    struct insert *insert = context;
    struct api_key *key = insert->key;
    const struct ssh_public_key *ssh = insert->request->ssh;
    api_key_deinit(key);
    if (check_room(db, insert->request->user_id, err) < 0 ||
        check_asker(db, insert->request->by_key_id, err) < 0 ||
        trim_revoked(db, insert->request->user_id, ssh ? "ssk\\_%" : "key\\_%", err) < 0)
        return -1;
    if (ssh &&
        db_exec(db, &free_fingerprint_statement,
                DB_ARGS(db_text(ssh->fingerprint), db_i64(key->created_at_ms)), NULL, err) < 0)
        return -1;
    if (db_exec(db, &insert_statement,
                DB_ARGS(db_text(key->id), db_text(key->lookup), db_text(insert->request->user_id),
                        db_text(key->name), db_bool(key->can_write), db_bool(key->all_teams),
                        db_u64(insert->hash_key_id), db_blob(insert->hash, MAC_BYTES),
                        db_i64(key->created_at_ms),
                        key->expires_at_ms ? db_i64(key->expires_at_ms) : db_null(),
                        ssh ? db_text(ssh->text) : db_null(),
                        ssh ? db_text(ssh->fingerprint) : db_null(),
                        db_text(insert->request->login_id), db_text(insert->request->by_key_id)),
                NULL, err) < 0)
        return -1;
    for (unsigned i = 0; i < insert->request->team_count; i++)
        if (insert_team(db, insert, i, err) < 0)
            return -1;
    return key->all_teams && insert->request->by_key_id
               ? insert_excluded(db, insert->request->by_key_id, key, err)
               : 0;
}

int api_key_row_insert(struct db *db, const struct api_key_request *request, uint16_t hash_key_id,
                       const unsigned char hash[MAC_BYTES], struct api_key *key, struct error **err)
{
    struct insert insert = {request, hash_key_id, hash, key};
    return db_transaction(db, insert_body, &insert, err);
}

/* --- administration --- */

static void read_key(const struct db_rows *rows, struct api_key *key)
{
    *key = (struct api_key){0};
    db_copy_text(key->id, rows, 0);
    db_copy_text(key->user_name, rows, 1);
    db_copy_text(key->lookup, rows, 2);
    db_copy_text(key->name, rows, 3);
    key->can_write = db_get_bool(rows, 4);
    key->all_teams = db_get_bool(rows, 5);
    key->created_at_ms = db_get_i64(rows, 6);
    key->expires_at_ms = db_get_i64(rows, 7);
    key->revoked_at_ms = db_get_i64(rows, 8);
    key->last_used_at_ms = db_get_i64(rows, 9);
    if (!db_is_null(rows, 13))
        db_copy_text(key->ssh_fingerprint, rows, 13);
    if (!db_is_null(rows, 14))
        key->ssh_public_key = xstrdup(db_get_text(rows, 14));
    key->is_bound = db_get_bool(rows, 15);
    if (!db_is_null(rows, 16))
        db_copy_text(key->created_by, rows, 16);
}

/* Read keys from rows of one key and one team each. */
static void read_keys(struct db_rows *rows, struct api_key **keys, unsigned *count)
{
    *keys = NULL;
    *count = 0;
    while (db_rows_next(rows)) {
        if (*count == 0 || strcmp((*keys)[*count - 1].id, db_get_text(rows, 0))) {
            *keys = xreallocarray(*keys, *count + 1, sizeof **keys);
            read_key(rows, &(*keys)[(*count)++]);
        }
        struct api_key *key = &(*keys)[*count - 1];
        append_team(rows, 10, &key->teams, &key->team_count);
    }
}

int api_key_list(struct db *db, enum api_key_kind kind, const char *user_id, struct api_key **keys,
                 unsigned *count, struct error **err)
{
    db_rows_auto *rows = NULL;
    const struct db_value is_ssh = db_bool(kind == SSH_KEYS);
    int result =
        user_id
            ? db_query(db, &list_statement,
                       DB_ARGS(is_ssh, db_text(user_id), db_u64(LIST_ROWS_MAX)), &rows, err)
            : db_query(db, &list_all_statement, DB_ARGS(is_ssh, db_u64(LIST_ROWS_MAX)), &rows, err);
    if (result == 0)
        read_keys(rows, keys, count);
    return result;
}

int api_key_get(struct db *db, const char *user_id, const char *id, struct api_key *key,
                struct error **err)
{
    db_rows_auto *rows = NULL;
    autofree struct api_key *keys = NULL;
    unsigned count;
    if (db_query(db, &get_statement,
                 DB_ARGS(db_text(id), db_text(user_id), db_u64(API_KEY_TEAMS_MAX)), &rows, err) < 0)
        return -1;
    read_keys(rows, &keys, &count);
    if (!count)
        return error_set(err, ERR_NOT_FOUND, "There is no such API key.");
    *key = keys[0];
    return 0;
}

int api_key_look_used(struct db *db, const char *id, int64_t *last_used_at_ms, uint64_t *revision,
                      struct error **err)
{
    db_rows_auto *rows = NULL;
    if (db_query(db, &look_used_statement, DB_ARGS(db_text(id)), &rows, err) < 0)
        return -1;
    if (!db_rows_next(rows))
        return error_set(err, ERR_INTERNAL, "the table access_revision has no row");
    *revision = db_get_u64(rows, 0);
    *last_used_at_ms = db_get_i64(rows, 1);
    return 0;
}

static int lock_user_of(struct db *db, const char *id, struct error **err)
{
    db_rows_auto *rows = NULL, *locked = NULL;
    if (db_query(db, &user_of_statement, DB_ARGS(db_text(id)), &rows, err) < 0)
        return -1;
    return db_rows_next(rows) ? db_query(db, &lock_user_statement,
                                         DB_ARGS(db_text(db_get_text(rows, 0))), &locked, err)
                              : 0;
}

/* A key of a user, and the key that created it. */
struct origin {
    char id[ID_SIZE], created_by[ID_SIZE]; /* "": a sign-in or an operator created it */
    bool found;
};

static int compare_origins(const void *a, const void *b)
{
    return strcmp(((const struct origin *)a)->id, ((const struct origin *)b)->id);
}

/* Return whether the key `id` or a found one created this key. */
static bool was_created(const struct origin *origin, const struct origin *keys, unsigned count,
                        const char *id)
{
    struct origin creator;
    if (!strcmp(origin->created_by, id))
        return true;
    memcpy(creator.id, origin->created_by, ID_SIZE);
    const struct origin *found = bsearch(&creator, keys, count, sizeof *keys, compare_origins);
    return found && found->found;
}

/* Find the keys that the key `id` created, those that these created, and so on, also through a
 * revoked key. `keys` are all keys of the user, sorted by id. A chain may be as long as the list,
 * so a recursive query could reach the server's limit. */
static void find_created(struct origin *keys, unsigned count, const char *id)
{
    bool changed;
    do {
        changed = false;
        for (unsigned i = 0; i < count; i++)
            if (!keys[i].found && *keys[i].created_by && was_created(&keys[i], keys, count, id))
                keys[i].found = changed = true;
    } while (changed);
}

static int revoke_created(struct db *db, struct revocation *revocation, struct error **err)
{
    db_rows_auto *rows = NULL;
    autofree struct origin *keys = NULL;
    unsigned count = 0;
    if (db_query(db, &origins_statement, DB_ARGS(db_text(revocation->id)), &rows, err) < 0)
        return -1;
    for (; db_rows_next(rows); count++) {
        keys = xreallocarray(keys, count + 1, sizeof *keys);
        keys[count] = (struct origin){0};
        db_copy_text(keys[count].id, rows, 0);
        if (!db_is_null(rows, 1))
            db_copy_text(keys[count].created_by, rows, 1);
    }
    find_created(keys, count, revocation->id);
    for (unsigned i = 0; i < count; i++)
        if (keys[i].found && revoke_one(db, revocation, keys[i].id, err) < 0)
            return -1;
    return 0;
}

int api_key_list_created(struct db *db, const char *user_id, const char *id, struct api_key **keys,
                         unsigned *count, struct error **err)
{
    db_rows_auto *rows = NULL;
    unsigned all;
    if (db_query(db, &list_with_origins_statement, DB_ARGS(db_text(user_id), db_u64(LIST_ROWS_MAX)),
                 &rows, err) < 0)
        return -1;
    read_keys(rows, keys, &all);
    autofree struct origin *origins = xcalloc(all + 1, sizeof *origins);
    for (unsigned i = 0; i < all; i++) {
        memcpy(origins[i].id, (*keys)[i].id, ID_SIZE);
        memcpy(origins[i].created_by, (*keys)[i].created_by, ID_SIZE);
    }
    find_created(origins, all, id);
    *count = 0;
    for (unsigned i = 0; i < all; i++)
        if (origins[i].found && !(*keys)[i].revoked_at_ms)
            (*keys)[(*count)++] = (*keys)[i];
        else
            api_key_deinit(&(*keys)[i]);
    return 0;
}

static int bump_revision(struct db *db, const char *id, struct error **err)
{
    char user_id[ID_SIZE];
    if (db_query_text(db, &user_of_statement, DB_ARGS(db_text(id)), user_id, sizeof user_id, err) <
        0)
        return -1;
    return access_revision_bump(db, user_id, err);
}

static int revoke_body(struct db *db, void *context, struct error **err)
{
    struct revocation *revocation = context;
    const char *id = revocation->id;
    revocation->revoked = 0;
    revocation->left = ACCESS_END_AT_ONCE;
    if ((revocation->with_created && lock_user_of(db, id, err) < 0) ||
        revoke_one(db, revocation, id, err) < 0 ||
        (revocation->with_created && revoke_created(db, revocation, err) < 0))
        return -1;
    return revocation->revoked ? bump_revision(db, id, err)
                               : error_set(err, ERR_NOT_FOUND, "There is no such API key.");
}

int api_key_revoke(struct db *db, const char *user_id, const char *id, bool with_created,
                   struct error **err)
{
    struct revocation revocation = {.user_id = user_id, .id = id, .with_created = with_created};
    return db_transaction(db, revoke_body, &revocation, err);
}

/* --- SSH --- */

int ssh_login_find(struct db *db, const char *fingerprint, struct ssh_login *login,
                   struct error **err)
{
    db_rows_auto *rows = NULL;
    if (db_query(db, &login_statement, DB_ARGS(db_text(fingerprint), db_i64(clock_now_ms())), &rows,
                 err) < 0)
        return -1;
    if (!db_rows_next(rows))
        return error_set(err, ERR_UNAUTHORIZED, "This SSH key belongs to no user.");
    db_copy_text(login->key_id, rows, 0);
    db_copy_text(login->lookup, rows, 1);
    db_copy_text(login->user_id, rows, 2);
    db_copy_text(login->user_name, rows, 3);
    login->expires_at_ms = db_get_i64(rows, 4);
    return 0;
}
