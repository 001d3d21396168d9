/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The end of a person's or a key's access to sandboxes. A token belongs to a sandbox, and not to
 * its holder, so all tokens of the sandbox end. Other holders get new ones with their next connect.
 *
 * Most of these functions run inside the transaction that ends the access. A token is valid for one
 * epoch of sessions, which is the sum of a number of its sandbox and a number of its team. So a
 * transaction ends all tokens of a team with one row, and those of few sandboxes with their rows.
 * No token that should end is valid after the transaction.
 *
 * Open connections end afterwards. A team's sandboxes can be many, so a dispatcher schedules the
 * end of their connections (sandbox/sandbox_sessions.h) in pieces, each in a transaction of its
 * own. A row of the team says how far it is, so no sandbox is forgotten when a process dies.
 */
#pragma once

#include "db/db.h"

#define ACCESS_END_AT_ONCE 100 /* sandboxes whose rows a transaction changes */

/* End the tokens of all sandboxes of a team. */
int access_end_of_team(struct db *db, const char *team_id, struct error **err);

/* End the tokens of all sandboxes of a user's teams. */
int access_end_of_user(struct db *db, const char *user_id, struct error **err);

/* End the tokens of the sandboxes of which an API key got tokens (token_key.h); with team_id, only
 * those of this team. *left: the number of sandboxes whose rows the transaction can still change,
 * at first ACCESS_END_AT_ONCE. When more sandboxes are left, end the tokens of all sandboxes of
 * their teams, also for the next keys. */
int access_end_of_key(struct db *db, const char *key_id, const char *team_id, unsigned *left,
                      struct error **err);

/* Do the same for the keys that end with a sign-in of the user; login_id NULL: with all sign-ins
 * except one (except_id, or ""). */
int access_end_of_login(struct db *db, const char *user_id, const char *login_id,
                        const char *except_id, struct error **err);

/* For the dispatcher, outside a transaction: schedule the end of the connections for the next
 * sandboxes of a team. Teams take turns, also after a failure. *worked: there was such a team;
 * false if the database takes no change at all. */
int access_end_next(struct db *db, bool *worked, struct error **err);
