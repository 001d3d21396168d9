/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The end of a person's access to the sandboxes of a team. A token belongs to a sandbox, and not to
 * the person who holds it, so all tokens of the team's sandboxes end. Other members get new ones
 * with their next connect. */
#pragma once

#include "db/db.h"

/* Inside a transaction: give all sandboxes of a team a new epoch of sessions, and let a dispatcher
 * cut their open connections (sandbox/sandbox_sessions.h). */
int access_end_of_team(struct db *db, const char *team_id, struct error **err);

/* Do the same with the sandboxes of all teams of a user. */
int access_end_of_user(struct db *db, const char *user_id, struct error **err);
