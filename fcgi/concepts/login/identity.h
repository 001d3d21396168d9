/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Link users to an identity provider, and let memberships follow the provider's groups. */
#pragma once

#include "account/account.h"

#define IDENTITY_MAX 255 /* bytes of an issuer, or of a subject */

/* Return whether text can be the provider's name for a user: printable ASCII, not too long. */
bool identity_is_valid(const char *text);

/* Find the user's id. Errors: ERR_NOT_FOUND. */
int identity_find(struct db *db, const char *issuer, const char *subject, char user_id[ID_SIZE],
                  struct error **err);

/* Link the provider's name to a user. Errors: ERR_NAME_TAKEN (it is linked to another user). */
int identity_link(struct db *db, const char *issuer, const char *subject, const char *user_id,
                  struct error **err);

/* Check the setting oidc_groups: "GROUP=TEAM:ROLE", separated by commas. Errors: ERR_CONFIG. */
int identity_check_groups(const char *map, struct error **err);

/* Make the user a member of each team that the map names, with the highest role of the user's
 * groups. Remove the user from a team when none of its groups includes the user. Memberships of
 * another origin do not change, and the last owner of a team stays. is_in: whether the user is in a
 * group. */
int identity_follow_groups(struct db *db, const char *user_id, const char *map,
                           bool (*is_in)(const char *group, const void *context),
                           const void *context, struct error **err);
