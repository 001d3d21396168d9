/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Statements about members that run inside a transaction of the caller. */
#pragma once

#include "account/member.h"
#include "event/event.h"

/* The condition that a user, for example the maker of an invitation, is an owner of the team and is
 * not disabled. table: a table with team_id; column: of the user. */
#define MEMBER_OWNS(table, column)                                           \
    " EXISTS (SELECT 1 FROM memberships m JOIN users o ON o.id = m.user_id"  \
    " WHERE m.team_id = " table ".team_id AND m.user_id = " table "." column \
    " AND m.role = 'owner' AND o.disabled_at_ms IS NULL)"

/* Lock the team's row and check that it takes one more member. Errors: ERR_NOT_FOUND (the team was
 * removed), ERR_INVALID_REQUEST (the team is personal, or full). */
int member_row_check_room(struct db *db, const char *team_id, struct error **err);

/* Check that a user may be in so many more teams than now: one with more could not sign in. Errors:
 * ERR_INVALID_REQUEST. */
int member_row_check_teams(struct db *db, const char *user_name, unsigned more, struct error **err);

/* A membership to insert. */
struct member_new {
    const char *team_id, *user_name;
    enum team_role role;
    bool from_groups; /* it follows the groups of the identity provider */
};

/* Insert the membership and read it back. Deletes an invitation of the user into the team, bumps
 * the access revision, and writes the event member.added. Errors: ERR_NOT_FOUND (user, "/name"),
 * ERR_DB_DUPLICATE (the user is a member already), those of member_row_check_teams(). */
int member_row_insert(struct db *db, const struct member_new *new, struct member *member,
                      struct error **err);

/* Write an event about a user of the team. role NULL: the event has no role. */
int member_row_record(struct db *db, enum event_kind kind, const char *team_id,
                      const char *user_name, const char *role, struct error **err);
