/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>

#include "account/access_end.h"
#include "account/access_revision.h"
#include "account/principal_row.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/panic.h"
#include "login/credential_row.h"
#include "login/login_row.h"

#define PURGE_BATCH   100
#define PURGE_MOST_MS 10000

#define LOGIN_COLUMNS                                                                     \
    "SELECT l.id, l.user_id, u.name, l.method, l.address, l.user_agent, l.created_at_ms," \
    " l.last_seen_at_ms, l.idle_at_ms, l.expires_at_ms"
/* One row for each team of the user. */
DB_STATEMENT(find_statement) = {
    "login.find",
    LOGIN_COLUMNS ", l.hash_key_id, l.hash, u.personal_team_id, t.id, t.slug, t.plan, m.role"
                  " FROM logins l JOIN users u ON u.id = l.user_id AND u.disabled_at_ms IS NULL"
                  " LEFT JOIN memberships m ON m.user_id = l.user_id"
                  " LEFT JOIN teams t ON t.id = m.team_id WHERE l.id = ? LIMIT ?"};
DB_STATEMENT(list_statement) = {
    "login.list",
    LOGIN_COLUMNS " FROM logins l JOIN users u ON u.id = l.user_id WHERE l.user_id = ?"
                  " AND l.idle_at_ms > ? AND l.expires_at_ms > ? ORDER BY l.id DESC LIMIT ?"};
DB_STATEMENT(seen_statement) = {
    "login.seen",
    "UPDATE logins SET last_seen_at_ms = ?, idle_at_ms = ? WHERE id = ? AND last_seen_at_ms < ?"};
DB_STATEMENT(insert_statement) = {
    "login.insert",
    "INSERT INTO logins (id, user_id, hash_key_id, hash, method, created_at_ms, last_seen_at_ms,"
    " idle_at_ms, expires_at_ms, address, user_agent) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"};
DB_STATEMENT(crowd_statement) = {
    "login.crowd", "SELECT id FROM logins WHERE user_id = ? ORDER BY id DESC LIMIT 1000 OFFSET ?"};
DB_STATEMENT(end_statement) = {"login.end", "DELETE FROM logins WHERE id = ? AND user_id = ?"};
DB_STATEMENT(end_all_statement) = {"login.end_all",
                                   "DELETE FROM logins WHERE user_id = ? AND id <> ?"};
DB_STATEMENT(idle_statement) = {"login.idle",
                                "SELECT l.id, l.user_id, EXISTS (SELECT 1 FROM api_keys k WHERE "
                                "k.login_id = l.id) FROM logins l"
                                " WHERE l.idle_at_ms < ? ORDER BY l.idle_at_ms LIMIT ?"};

void secret_hash_read(const struct db_rows *rows, unsigned first, struct secret_hash *kept)
{
    size_t size;
    const void *hash = db_get_blob(rows, first + 1, &size);
    if (size != sizeof kept->hash)
        panic("a hash has a wrong size");
    kept->key_id = (uint16_t)db_get_u64(rows, first);
    memcpy(kept->hash, hash, sizeof kept->hash);
}

static void read_login(const struct db_rows *rows, struct login *login)
{
    static const char *const methods[] = {"password", "oidc", "header", "passkey"};
    db_copy_text(login->id, rows, 0);
    db_copy_text(login->user_id, rows, 1);
    db_copy_text(login->user_name, rows, 2);
    login->method = methods[db_get_name(rows, 3, methods, ARRAY_SIZE(methods))];
    db_copy_text(login->address, rows, 4);
    db_copy_text(login->user_agent, rows, 5);
    login->created_at_ms = db_get_i64(rows, 6);
    login->last_seen_at_ms = db_get_i64(rows, 7);
    login->idle_at_ms = db_get_i64(rows, 8);
    login->expires_at_ms = db_get_i64(rows, 9);
}

static void read_principal(const struct db_rows *rows, const struct login *login,
                           struct principal *principal)
{
    memcpy(principal->user_id, login->user_id, sizeof principal->user_id);
    memcpy(principal->login_id, login->id, sizeof principal->login_id);
    principal->can_write = true;
    principal->all_teams = true;
    db_copy_text(principal->personal_team_id, rows, 12);
}

int login_row_find(struct db *db, const char *id, bool *found, struct login *login,
                   struct secret_hash *kept, struct principal *principal, struct error **err)
{
    db_rows_auto *rows = NULL;
    unsigned count = 0;
    if (db_query(db, &find_statement, DB_ARGS(db_text(id), db_u64(PRINCIPAL_TEAMS_MAX + 1)), &rows,
                 err) < 0)
        return -1;
    for (; db_rows_next(rows); count++) {
        if (count == 0) {
            read_login(rows, login);
            secret_hash_read(rows, 10, kept);
            read_principal(rows, login, principal);
        }
        principal_row_append_team(rows, 13, principal);
    }
    *found = count > 0;
    return principal_row_check_count(principal, count, err);
}

int login_row_seen(struct db *db, const char *id, int64_t seen_at_ms, int64_t idle_at_ms,
                   struct error **err)
{
    return db_exec(db, &seen_statement,
                   DB_ARGS(db_i64(seen_at_ms), db_i64(idle_at_ms), db_text(id), db_i64(seen_at_ms)),
                   NULL, err);
}

/* End a sign-in, with the keys that are bound to it. The caller increments the access revision. */
static int end_one(struct db *db, const char *user_id, const char *id, uint64_t *affected,
                   struct error **err)
{
    if (access_end_of_login(db, user_id, id, "", err) < 0)
        return -1;
    return db_exec(db, &end_statement, DB_ARGS(db_text(id), db_text(user_id)), affected, err);
}

struct insert {
    const struct login *login;
    unsigned epoch;
    const struct secret_hash *kept;
};

/* Make room for one more sign-in of a locked user. */
static int end_oldest(struct db *db, const char *user_id, struct error **err)
{
    db_rows_auto *rows = NULL;
    uint64_t ended = 0;
    if (db_query(db, &crowd_statement, DB_ARGS(db_text(user_id), db_u64(LOGINS_MAX - 1)), &rows,
                 err) < 0)
        return -1;
    for (; db_rows_next(rows); ended++)
        if (end_one(db, user_id, db_get_text(rows, 0), NULL, err) < 0)
            return -1;
    return ended ? access_revision_bump(db, user_id, err) : 0;
}

static int insert_body(struct db *db, void *context, struct error **err)
{
    const struct insert *insert = context;
    const struct login *login = insert->login;
    struct db_value user = db_text(login->user_id);
    if (credential_row_lock(db, login->user_id, insert->epoch, err) < 0 ||
        end_oldest(db, login->user_id, err) < 0)
        return -1;
    return db_exec(db, &insert_statement,
                   DB_ARGS(db_text(login->id), user, db_u64(insert->kept->key_id),
                           db_blob(insert->kept->hash, sizeof insert->kept->hash),
                           db_text(login->method), db_i64(login->created_at_ms),
                           db_i64(login->last_seen_at_ms), db_i64(login->idle_at_ms),
                           db_i64(login->expires_at_ms), db_text(login->address),
                           db_text(login->user_agent)),
                   NULL, err);
}

int login_row_insert(struct db *db, const struct login *login, unsigned epoch,
                     const struct secret_hash *kept, struct error **err)
{
    struct insert insert = {login, epoch, kept};
    return db_transaction(db, insert_body, &insert, err);
}

int login_row_end_all(struct db *db, const char *user_id, const char *except_id, struct error **err)
{
    uint64_t affected;
    const char *except = except_id ? except_id : "";
    if (access_end_of_login(db, user_id, NULL, except, err) < 0 ||
        db_exec(db, &end_all_statement, DB_ARGS(db_text(user_id), db_text(except)), &affected,
                err) < 0)
        return -1;
    return affected ? access_revision_bump(db, user_id, err) : 0;
}

int login_list(struct db *db, const char *user_id, struct login **logins, unsigned *count,
               struct error **err)
{
    struct db_value now = db_i64(clock_now_ms());
    return DB_LIST(db, &list_statement, DB_ARGS(db_text(user_id), now, now, db_u64(LOGINS_MAX)),
                   read_login, logins, count, err);
}

struct end {
    const char *user_id, *id;
};

static int end_body(struct db *db, void *context, struct error **err)
{
    const struct end *end = context;
    uint64_t affected;
    if (end_one(db, end->user_id, end->id, &affected, err) < 0)
        return -1;
    return affected ? access_revision_bump(db, end->user_id, err)
                    : error_set(err, ERR_NOT_FOUND, "There is no such sign-in.");
}

int login_end(struct db *db, const char *user_id, const char *id, struct error **err)
{
    struct end end = {user_id, id};
    return db_transaction(db, end_body, &end, err);
}

/* A sign-in with bound keys has a transaction of its own, because its end changes rows of
 * sandboxes. */
static int purge_body(struct db *db, void *context, struct error **err)
{
    unsigned *ended = context;
    db_rows_auto *rows = NULL;
    char user_ids[PURGE_BATCH][ID_SIZE];
    bool has_keys = false;
    *ended = 0;
    if (db_query(db, &idle_statement, DB_ARGS(db_i64(clock_now_ms()), db_u64(PURGE_BATCH)), &rows,
                 err) < 0)
        return -1;
    while (!has_keys && db_rows_next(rows)) {
        has_keys = db_get_bool(rows, 2);
        if (has_keys && *ended)
            break;
        if (end_one(db, db_get_text(rows, 1), db_get_text(rows, 0), NULL, err) < 0)
            return -1;
        db_copy_text(user_ids[*ended], rows, 1);
        ++*ended;
    }
    for (unsigned i = 0; i < *ended; i++)
        if (access_revision_bump(db, user_ids[i], err) < 0)
            return -1;
    return 0;
}

int login_purge(struct db *db, struct error **err)
{
    int64_t until_ms = clock_monotonic_ms() + PURGE_MOST_MS;
    unsigned ended;
    do {
        if (db_transaction(db, purge_body, &ended, err) < 0)
            return -1;
    } while (ended && clock_monotonic_ms() < until_ms);
    return 0;
}
