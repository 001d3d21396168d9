/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The end of a person's or a key's access to sandboxes. A token belongs to a sandbox, and not to
 * its holder, so all tokens of the sandbox end. Other holders get new ones with their next connect.
 *
 * These functions run inside a transaction. They give sandboxes a new epoch of sessions, and let a
 * dispatcher cut the open connections (sandbox/sandbox_sessions.h).
 */
#pragma once

#include "db/db.h"

/* End the tokens of all sandboxes of a team. */
int access_end_of_team(struct db *db, const char *team_id, struct error **err);

/* End the tokens of all sandboxes of a user's teams. */
int access_end_of_user(struct db *db, const char *user_id, struct error **err);

/* End the tokens of the sandboxes of which an API key got tokens (token_key.h); with team_id, only
 * those of this team. */
int access_end_of_key(struct db *db, const char *key_id, const char *team_id, struct error **err);

/* Do the same for the keys that end with a sign-in of the user; login_id NULL: with all sign-ins
 * except one (except_id, or ""). */
int access_end_of_login(struct db *db, const char *user_id, const char *login_id,
                        const char *except_id, struct error **err);

/* Do the same for the keys of all sign-ins that ended before a time for lack of requests. */
int access_end_of_idle_logins(struct db *db, int64_t before_ms, struct error **err);
