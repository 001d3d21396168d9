/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The members of a team and their roles. A team has an owner as long as it has members. */
#pragma once

#include "account/account.h"

#define TEAM_MEMBERS_MAX 1000
#define USER_TEAMS_MAX   4096 /* with the personal one */
#define MEMBERSHIPS_MAX  100

struct member {
    char user_name[SLUG_MAX + 1];
    enum team_role role;
    int64_t added_at_ms; /* 0: added before the schema had this column */
};

/* List the members by name; the caller frees the array. */
int member_list(struct db *db, const char *team_id, struct member **members, unsigned *count,
                struct error **err);

struct membership {
    char team_slug[SLUG_MAX + 1];
    enum team_role role;
};

/* List the first MEMBERSHIPS_MAX teams of a user by slug, without the personal team; the caller
 * frees the array. */
int membership_list(struct db *db, const char *user_id, struct membership **memberships,
                    unsigned *count, struct error **err);

/* Read a member. Errors: ERR_NOT_FOUND. */
int member_get(struct db *db, const char *team_id, const char *user_name, struct member *member,
               struct error **err);

/* Make a user a member without an invitation, for operators; an open invitation ends. Owners invite
 * users instead (invitation.h). Errors: ERR_NOT_FOUND (user), ERR_NAME_TAKEN (the user is a member
 * already), ERR_INVALID_REQUEST (the team is full, or personal). */
int member_add(struct db *db, const char *team_id, const char *user_name, enum team_role role,
               struct member *member, struct error **err);

/* Change a member's role, or remove the member. Errors: ERR_NOT_FOUND (no member with that name),
 * ERR_LAST_OWNER. */
int member_set_role(struct db *db, const char *team_id, const char *user_name, enum team_role role,
                    struct member *member, struct error **err);
int member_remove(struct db *db, const char *team_id, const char *user_name, struct error **err);
