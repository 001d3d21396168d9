/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Links into teams, for people whose user names an owner does not know. An owner makes a link with
 * a role, a number of uses and an end. Each holder sees the team and the role first, and becomes a
 * member by accepting. A link ends with its last use, at its time, and when an owner revokes it. It
 * also ends when its maker is disabled or is no longer an owner. It gives no one the role of an
 * owner.
 */
#pragma once

#include "account/member.h"
#include "login/secret_text.h"

#define TEAM_LINKS_MAX     20 /* open ones of one team */
#define TEAM_LINK_USES_MAX 100
#define TEAM_LINK_DAYS     7 /* unless the owner names an end */
#define TEAM_LINK_DAYS_MAX 30

struct team_link {
    char id[ID_SIZE];
    char team_id[ID_SIZE];
    char team_slug[SLUG_MAX + 1];
    char made_by[SLUG_MAX + 1];
    enum team_role role;
    unsigned uses_left;
    int64_t created_at_ms, expires_at_ms;
};

/* Make the id and the token of a new link. text: the token, for the owner only; the caller wipes
 * it. */
int team_link_new(const struct keyring *ring, struct team_link *link, char text[SECRET_TEXT_SIZE],
                  struct secret_hash *kept, struct error **err);

/* Insert a link of team_link_new(), with team_id, role, uses_left and expires_at_ms. Errors:
 * ERR_INVALID_REQUEST (a personal team, too many links). */
int team_link_make(struct db *db, struct team_link *link, const struct secret_hash *kept,
                   const char *by_user_id, struct error **err);

/* List the open links of a team, oldest first. The caller frees the array. */
int team_link_list(struct db *db, const char *team_id, struct team_link **links, unsigned *count,
                   struct error **err);

/* Delete a link of the team. Errors: ERR_NOT_FOUND. */
int team_link_revoke(struct db *db, const char *team_id, const char *id, struct error **err);

/* Find the open link of a text. Unknown, malformed, used and ended links get the same
 * ERR_NOT_FOUND. */
int team_link_find(struct db *db, const struct keyring *ring, const char *text,
                   struct team_link *link, struct error **err);

/* Make a user a member by a link that was found; an open invitation of the user ends. Errors:
 * ERR_NOT_FOUND (the link ended meanwhile), ERR_NAME_TAKEN (a member already, which is no use of
 * the link), ERR_INVALID_REQUEST (the team is full). */
int team_link_accept(struct db *db, const struct team_link *link, const char *user_name,
                     struct member *member, struct error **err);

/* Do the same inside a transaction of the caller. A member already: ERR_DB_DUPLICATE. */
int team_link_use(struct db *db, const struct team_link *link, const char *user_name,
                  struct member *member, struct error **err);
