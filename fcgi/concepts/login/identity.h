/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Link users to an identity provider, and let memberships follow the provider's groups. */
#pragma once

#include "account/account.h"
#include "crypto/keyring.h"

#define IDENTITY_MAX 255 /* bytes of an issuer, or of a subject */

/* Return whether text can be the provider's name for a user: printable ASCII, not too long. */
bool identity_is_valid(const char *text);

/* Find the user's id. Errors: ERR_NOT_FOUND. */
int identity_find(struct db *db, const char *issuer, const char *subject, char user_id[ID_SIZE],
                  struct error **err);

/* Link the provider's name to a user. Errors: ERR_NAME_TAKEN (it is linked to another user). */
int identity_link(struct db *db, const char *issuer, const char *subject, const char *user_id,
                  struct error **err);

/* The provider's name for a user who is not known yet, and the user's name and address. */
struct identity_new {
    const char *issuer, *subject, *name, *address;
};

/* Create a user and link the provider's name to it, in one transaction that also writes the row of
 * the audit log. Errors: ERR_NAME_TAKEN (a user or team has the name, or the provider's name is
 * linked already), ERR_INVALID_REQUEST. */
int identity_create_user(struct db *db, const struct keyring *ring, const struct identity_new *new,
                         struct user *user, struct error **err);

/* Check the setting oidc_groups: "GROUP=TEAM:ROLE", separated by commas. Errors: ERR_CONFIG. */
int identity_check_groups(const char *map, struct error **err);

/* A user who signs in, with the key ring and the address for the rows of the audit log. */
struct identity_user {
    const struct keyring *ring;
    const char *id, *name, *address;
};

struct identity_groups {
    struct identity_user user;
    const char *map;                                       /* the setting oidc_groups */
    bool (*is_in)(const char *group, const void *context); /* whether the user is in a group */
    const void *context;
};

/* Make the user a member of each team that the map names, with the highest role of the user's
 * groups. Remove the user from a team when none of its groups includes the user. Memberships of
 * another origin do not change, the last owner of a team stays, and a team that is full or personal
 * gets no member. Each change has its row in the audit log. */
int identity_follow_groups(struct db *db, const struct identity_groups *groups, struct error **err);
