/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "account/access_end.h"

#include "base/clock.h"

/* nginx keeps decisions of the gate for about a second. Within two seconds, sandlot-ssh ends the
 * sessions of the person, and says why. */
#define CUT_AFTER_MS 2500

#define NEW_EPOCH                                                                                 \
    " SET s.version = UUID_SHORT(), s.session_epoch = s.session_epoch + 1, s.sessions_due_at_ms " \
    "= ?"
#define OF_KEYS                                                                                   \
    "UPDATE sandbox_token_keys t STRAIGHT_JOIN sandboxes s ON s.id = t.sandbox_id AND s.visible " \
    "= 1"
#define OF_BOUND_KEYS                                                                         \
    "UPDATE logins l STRAIGHT_JOIN api_keys k ON k.login_id = l.id"                           \
    " STRAIGHT_JOIN sandbox_token_keys t ON t.api_key_id = k.id STRAIGHT_JOIN sandboxes s ON" \
    " s.id = t.sandbox_id AND s.visible = 1" NEW_EPOCH

DB_STATEMENT(of_team_statement) = {
    "access_end.of_team", "UPDATE sandboxes s" NEW_EPOCH " WHERE s.team_id = ? AND s.visible = 1",
    false};
DB_STATEMENT(of_user_statement) = {
    "access_end.of_user",
    "UPDATE memberships m STRAIGHT_JOIN sandboxes s ON s.team_id = m.team_id"
    " AND s.visible = 1" NEW_EPOCH " WHERE m.user_id = ?",
    false};
DB_STATEMENT(of_key_statement) = {
    "access_end.of_key",
    OF_KEYS NEW_EPOCH " WHERE t.api_key_id = ? AND s.team_id = COALESCE(?, s.team_id)", false};
DB_STATEMENT(forget_statement) = {
    "access_end.forget",
    "DELETE t FROM sandbox_token_keys t JOIN sandboxes s ON s.id = t.sandbox_id"
    " WHERE t.api_key_id = ? AND s.team_id = COALESCE(?, s.team_id)",
    false};
DB_STATEMENT(of_login_statement) = {
    "access_end.of_login",
    OF_BOUND_KEYS " WHERE l.user_id = ? AND l.id = COALESCE(?, l.id) AND l.id <> ?", false};
DB_STATEMENT(of_idle_statement) = {"access_end.of_idle", OF_BOUND_KEYS " WHERE l.idle_at_ms < ?",
                                   false};

static struct db_value cut_time(void)
{
    return db_i64(clock_now_ms() + CUT_AFTER_MS);
}

int access_end_of_team(struct db *db, const char *team_id, struct error **err)
{
    return db_exec(db, &of_team_statement, DB_ARGS(cut_time(), db_text(team_id)), NULL, err);
}

int access_end_of_user(struct db *db, const char *user_id, struct error **err)
{
    return db_exec(db, &of_user_statement, DB_ARGS(cut_time(), db_text(user_id)), NULL, err);
}

int access_end_of_key(struct db *db, const char *key_id, const char *team_id, struct error **err)
{
    struct db_value key = db_text(key_id), team = db_text(team_id);
    if (db_exec(db, &of_key_statement, DB_ARGS(cut_time(), key, team), NULL, err) < 0)
        return -1;
    return db_exec(db, &forget_statement, DB_ARGS(key, team), NULL, err);
}

int access_end_of_login(struct db *db, const char *user_id, const char *login_id,
                        const char *except_id, struct error **err)
{
    return db_exec(db, &of_login_statement,
                   DB_ARGS(cut_time(), db_text(user_id), db_text(login_id), db_text(except_id)),
                   NULL, err);
}

int access_end_of_idle_logins(struct db *db, int64_t before_ms, struct error **err)
{
    return db_exec(db, &of_idle_statement, DB_ARGS(cut_time(), db_i64(before_ms)), NULL, err);
}
