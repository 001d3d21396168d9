/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Invitations into teams. An owner invites a user, and the user becomes a member by accepting.
 * Before that the invitation changes nothing for either side. Personal teams take no members, so
 * there are no invitations into them. An invitation is open while the user who made it is an owner
 * and not disabled. */
#pragma once

#include "account/member.h"

#define INVITATION_DAYS      14
#define INVITATIONS_TEAM_MAX 100 /* open ones of one team */
#define INVITATIONS_USER_MAX 100 /* open ones to one user */

struct invitation {
    char team_id[ID_SIZE];
    char team_slug[SLUG_MAX + 1];
    char user_name[SLUG_MAX + 1];
    char invited_by[SLUG_MAX + 1];
    enum team_role role;
    int64_t created_at_ms, expires_at_ms;
};

/* Invite a user. A second invitation of the same user replaces the first. Errors: ERR_NOT_FOUND
 * (user, "/name"), ERR_NAME_TAKEN (the user is a member already), ERR_INVALID_REQUEST (a personal
 * team, too many invitations). */
int invitation_make(struct db *db, const char *team_id, const char *user_name, enum team_role role,
                    const char *by_user_id, struct invitation *invitation, struct error **err);

/* List the open invitations into a team by user name, or those of a user by team. The caller frees
 * the array. */
int invitation_list_of_team(struct db *db, const char *team_id, struct invitation **invitations,
                            unsigned *count, struct error **err);
int invitation_list_of_user(struct db *db, const char *user_id, struct invitation **invitations,
                            unsigned *count, struct error **err);

/* Delete the invitation of a user on behalf of the team. Errors: ERR_NOT_FOUND. */
int invitation_withdraw(struct db *db, const char *team_id, const char *user_name,
                        struct error **err);

/* Find the open invitation of a user into the team of that slug. Errors: ERR_NOT_FOUND. */
int invitation_get(struct db *db, const char *user_id, const char *team_slug,
                   struct invitation *invitation, struct error **err);

/* Answer an open invitation: the user becomes a member with the invited role, or does not; the
 * invitation ends either way. Errors: ERR_NOT_FOUND (it ended meanwhile), ERR_INVALID_REQUEST (the
 * team is full). */
int invitation_accept(struct db *db, const char *user_id, const struct invitation *invitation,
                      struct member *member, struct error **err);
int invitation_decline(struct db *db, const char *user_id, const struct invitation *invitation,
                       struct error **err);
