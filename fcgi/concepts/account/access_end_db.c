/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "account/access_end.h"

#include "base/clock.h"

/* nginx keeps decisions of the gate for about a second. Within two seconds, sandlot-ssh ends the
 * sessions of the person, and says why. */
#define CUT_AFTER_MS 2500

#define NEW_EPOCH \
    " version = UUID_SHORT(), session_epoch = session_epoch + 1, sessions_due_at_ms = ?"

DB_STATEMENT(of_team_statement) = {
    "access_end.of_team", "UPDATE sandboxes SET" NEW_EPOCH " WHERE team_id = ? AND visible = 1",
    false};
DB_STATEMENT(of_user_statement) = {
    "access_end.of_user",
    "UPDATE sandboxes SET" NEW_EPOCH " WHERE visible = 1"
    " AND team_id IN (SELECT m.team_id FROM memberships m WHERE m.user_id = ?)",
    false};

int access_end_of_team(struct db *db, const char *team_id, struct error **err)
{
    return db_exec(db, &of_team_statement,
                   DB_ARGS(db_i64(clock_now_ms() + CUT_AFTER_MS), db_text(team_id)), NULL, err);
}

int access_end_of_user(struct db *db, const char *user_id, struct error **err)
{
    return db_exec(db, &of_user_statement,
                   DB_ARGS(db_i64(clock_now_ms() + CUT_AFTER_MS), db_text(user_id)), NULL, err);
}
