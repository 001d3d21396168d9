/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "account/access_end.h"

#include <assert.h>

#include "base/clock.h"
#include "base/ulid.h"

/* nginx keeps decisions of the gate for about a second. Within two seconds, sandlot-ssh ends the
 * sessions of the person, and says why. */
#define CUT_AFTER_MS   2500
#define AGAIN_AFTER_MS 2000 /* after a failure */

DB_STATEMENT(team_epoch_statement) = {
    "access_end.team_epoch", "UPDATE teams SET session_epoch = session_epoch + 1 WHERE id = ?"};
/* Sandboxes that the work has passed already come again in a second pass. */
#define COLUMNS "INSERT INTO ended_access (team_id, done_up_to, cut_at_ms, due_at_ms)"
#define AGAIN   " ON DUPLICATE KEY UPDATE again_at_ms = ?"
DB_STATEMENT(note_team_statement) = {"access_end.note_team", COLUMNS " VALUES (?, '', ?, ?)" AGAIN};
DB_STATEMENT(user_epoch_statement) = {
    "access_end.user_epoch", "UPDATE memberships m STRAIGHT_JOIN teams t ON t.id = m.team_id"
                             " SET t.session_epoch = t.session_epoch + 1 WHERE m.user_id = ?"};
DB_STATEMENT(note_user_statement) = {
    "access_end.note_user",
    COLUMNS " SELECT m.team_id, '', ?, ? FROM memberships m WHERE m.user_id = ?" AGAIN};

/* The lock waits for requests that get a token with the key, and later ones fail: all rows of the
 * key in sandbox_token_keys can be read. */
DB_STATEMENT(lock_key_statement) = {"access_end.lock_key",
                                    "SELECT id FROM api_keys WHERE id = ? FOR UPDATE"};
DB_STATEMENT(lock_bound_keys_statement) = {
    "access_end.lock_bound_keys",
    "SELECT k.id FROM logins l JOIN api_keys k ON k.login_id = l.id"
    " WHERE l.user_id = ? AND l.id = COALESCE(?, l.id) AND l.id <> ? FOR UPDATE"};
#define OF_KEY                                                                                     \
    " FROM sandbox_token_keys t STRAIGHT_JOIN sandboxes s ON s.id = t.sandbox_id AND s.visible = " \
    "1"                                                                                            \
    " WHERE t.api_key_id = ? AND s.team_id = COALESCE(?, s.team_id)"
DB_STATEMENT(sandboxes_statement) = {"access_end.sandboxes",
                                     "SELECT s.id" OF_KEY " ORDER BY t.sandbox_id LIMIT ?"};
DB_STATEMENT(teams_statement) = {"access_end.teams",
                                 "SELECT DISTINCT s.team_id" OF_KEY " ORDER BY s.team_id"};
DB_STATEMENT(epoch_statement) = {"access_end.epoch",
                                 "UPDATE sandboxes SET version = UUID_SHORT(),"
                                 " session_epoch = session_epoch + 1, sessions_due_at_ms = ?"
                                 " WHERE id = ? AND visible = 1"};
DB_STATEMENT(forget_statement) = {
    "access_end.forget", "DELETE FROM sandbox_token_keys WHERE api_key_id = ? AND sandbox_id = ?"};
DB_STATEMENT(forget_key_statement) = {"access_end.forget_key",
                                      "DELETE FROM sandbox_token_keys WHERE api_key_id = ?"};

DB_STATEMENT(due_statement) = {
    "access_end.due",
    "SELECT team_id, done_up_to, cut_at_ms, again_at_ms FROM ended_access WHERE due_at_ms <= ?"
    " ORDER BY due_at_ms LIMIT 1 FOR UPDATE SKIP LOCKED"};
DB_STATEMENT(of_team_statement) = {
    "access_end.of_team",
    "SELECT id, reserved = 1 FROM sandboxes WHERE team_id = ? AND visible = 1 AND id > ?"
    " ORDER BY id LIMIT ?"};
DB_STATEMENT(cut_statement) = {
    "access_end.cut", "UPDATE sandboxes SET sessions_due_at_ms = ? WHERE id = ? AND visible = 1"};
DB_STATEMENT(move_statement) = {
    "access_end.move",
    "UPDATE ended_access SET done_up_to = ?, cut_at_ms = ?, again_at_ms = ?, due_at_ms = ?"
    " WHERE team_id = ?"};
DB_STATEMENT(defer_statement) = {"access_end.defer",
                                 "UPDATE ended_access SET due_at_ms = ? WHERE team_id = ?"};
DB_STATEMENT(done_statement) = {"access_end.done", "DELETE FROM ended_access WHERE team_id = ?"};

static struct db_value cut_time(void)
{
    return db_i64(clock_now_ms() + CUT_AFTER_MS);
}

/* --- the end of tokens --- */

int access_end_of_team(struct db *db, const char *team_id, struct error **err)
{
    struct db_value cut = cut_time();
    assert(db_in_transaction(db));
    if (db_exec(db, &team_epoch_statement, DB_ARGS(db_text(team_id)), NULL, err) < 0)
        return -1;
    return db_exec(db, &note_team_statement,
                   DB_ARGS(db_text(team_id), cut, db_i64(clock_now_ms()), cut), NULL, err);
}

int access_end_of_user(struct db *db, const char *user_id, struct error **err)
{
    struct db_value cut = cut_time();
    assert(db_in_transaction(db));
    if (db_exec(db, &user_epoch_statement, DB_ARGS(db_text(user_id)), NULL, err) < 0)
        return -1;
    return db_exec(db, &note_user_statement,
                   DB_ARGS(cut, db_i64(clock_now_ms()), db_text(user_id), cut), NULL, err);
}

/* Delete all rows of a key, also those of sandboxes whose deletion has begun: an expired key is
 * ended again as long as it has rows. */
static int forget_key(struct db *db, const char *key_id, struct error **err)
{
    return db_exec(db, &forget_key_statement, DB_ARGS(db_text(key_id)), NULL, err);
}

static int end_teams(struct db *db, const char *key_id, const char *team_id, struct error **err)
{
    db_rows_auto *rows = NULL;
    if (db_query(db, &teams_statement, DB_ARGS(db_text(key_id), db_text(team_id)), &rows, err) < 0)
        return -1;
    while (db_rows_next(rows))
        if (access_end_of_team(db, db_get_text(rows, 0), err) < 0)
            return -1;
    /* Rows of one team stay until the key or the sandbox ends: to find them, the deletion would
     * lock the rows of the team's sandboxes. */
    return team_id ? 0 : forget_key(db, key_id, err);
}

/* The key is locked. */
static int end_key(struct db *db, const char *key_id, const char *team_id, unsigned *left,
                   struct error **err)
{
    db_rows_auto *rows = NULL;
    char ids[ACCESS_END_AT_ONCE + 1][ID_SIZE];
    unsigned count = 0;
    if (db_query(db, &sandboxes_statement,
                 DB_ARGS(db_text(key_id), db_text(team_id), db_u64(*left + 1)), &rows, err) < 0)
        return -1;
    for (; db_rows_next(rows); count++)
        db_copy_text(ids[count], rows, 0);
    if (count > *left) {
        *left = 0; /* rows of teams are locked after those of sandboxes, as by other changes */
        return end_teams(db, key_id, team_id, err);
    }
    for (unsigned i = 0; i < count; i++) {
        struct db_value id = db_text(ids[i]);
        if (db_exec(db, &epoch_statement, DB_ARGS(cut_time(), id), NULL, err) < 0 ||
            (team_id &&
             db_exec(db, &forget_statement, DB_ARGS(db_text(key_id), id), NULL, err) < 0))
            return -1;
    }
    *left -= count;
    return team_id ? 0 : forget_key(db, key_id, err);
}

int access_end_of_key(struct db *db, const char *key_id, const char *team_id, unsigned *left,
                      struct error **err)
{
    db_rows_auto *locked = NULL;
    assert(db_in_transaction(db) && *left <= ACCESS_END_AT_ONCE);
    if (db_query(db, &lock_key_statement, DB_ARGS(db_text(key_id)), &locked, err) < 0)
        return -1;
    return end_key(db, key_id, team_id, left, err);
}

int access_end_of_login(struct db *db, const char *user_id, const char *login_id,
                        const char *except_id, struct error **err)
{
    db_rows_auto *keys = NULL;
    unsigned left = ACCESS_END_AT_ONCE;
    assert(db_in_transaction(db));
    if (db_query(db, &lock_bound_keys_statement,
                 DB_ARGS(db_text(user_id), db_text(login_id), db_text(except_id)), &keys, err) < 0)
        return -1;
    while (db_rows_next(keys))
        if (end_key(db, db_get_text(keys, 0), NULL, &left, err) < 0)
            return -1;
    return 0;
}

/* --- the end of connections --- */

/* The row of a team, locked until the end of the transaction. */
struct ended {
    char team_id[ID_SIZE], done_up_to[ID_SIZE];
    int64_t cut_at_ms, again_at_ms; /* again_at_ms 0: no second pass */
};

static int lock_due(struct db *db, struct ended *ended, bool *found, struct error **err)
{
    db_rows_auto *rows = NULL;
    if (db_query(db, &due_statement, DB_ARGS(db_i64(clock_now_ms())), &rows, err) < 0)
        return -1;
    *found = db_rows_next(rows);
    if (!*found)
        return 0;
    db_copy_text(ended->team_id, rows, 0);
    db_copy_text(ended->done_up_to, rows, 1);
    ended->cut_at_ms = db_get_i64(rows, 2);
    ended->again_at_ms = db_get_i64(rows, 3);
    return 0;
}

/* A paused sandbox has no connections. The rows of sandboxes are locked in the order of their ids,
 * as by other changes of several. */
static int cut_next(struct db *db, struct ended *ended, unsigned *count, struct error **err)
{
    db_rows_auto *rows = NULL;
    *count = 0;
    if (db_query(db, &of_team_statement,
                 DB_ARGS(db_text(ended->team_id), db_text(ended->done_up_to),
                         db_u64(ACCESS_END_AT_ONCE)),
                 &rows, err) < 0)
        return -1;
    for (; db_rows_next(rows); ++*count) {
        db_copy_text(ended->done_up_to, rows, 0);
        if (db_get_bool(rows, 1) &&
            db_exec(db, &cut_statement,
                    DB_ARGS(db_i64(ended->cut_at_ms), db_text(ended->done_up_to)), NULL, err) < 0)
            return -1;
    }
    return 0;
}

struct piece {
    struct ended ended;
    bool found;
};

static int next_body(struct db *db, void *context, struct error **err)
{
    struct piece *piece = context;
    struct ended *ended = &piece->ended;
    unsigned count;
    if (lock_due(db, ended, &piece->found, err) < 0)
        return -1;
    if (!piece->found)
        return 0;
    if (cut_next(db, ended, &count, err) < 0)
        return -1;
    if (count < ACCESS_END_AT_ONCE) {
        if (!ended->again_at_ms)
            return db_exec(db, &done_statement, DB_ARGS(db_text(ended->team_id)), NULL, err);
        *ended->done_up_to = '\0';
        ended->cut_at_ms = ended->again_at_ms;
        ended->again_at_ms = 0;
    }
    /* Other teams that are due come first. */
    return db_exec(db, &move_statement,
                   DB_ARGS(db_text(ended->done_up_to), db_i64(ended->cut_at_ms),
                           ended->again_at_ms ? db_i64(ended->again_at_ms) : db_null(),
                           db_i64(clock_now_ms()), db_text(ended->team_id)),
                   NULL, err);
}

int access_end_next(struct db *db, bool *worked, struct error **err)
{
    struct piece piece = {.found = false};
    error_auto ignored = NULL; /* the piece stays due */
    int result = db_transaction(db, next_body, &piece, err);
    *worked = piece.found;
    /* A row of this team may be locked for long. */
    if (result < 0 && piece.found)
        *worked =
            db_exec(db, &defer_statement,
                    DB_ARGS(db_i64(clock_in_ms(AGAIN_AFTER_MS)), db_text(piece.ended.team_id)),
                    NULL, &ignored) == 0;
    return result;
}
