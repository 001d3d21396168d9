/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Users whom an identity provider vouches for, and memberships that follow its groups. */
#pragma once

#include "account/account.h"

#define IDENTITY_MAX 255 /* bytes of an issuer, and of a subject */

/* Whether text can be the provider's name for somebody: ASCII that can be shown, not too long. */
bool identity_is_valid(const char *text);

/* The id of the user. Errors: ERR_NOT_FOUND. */
int identity_find(struct db *db, const char *issuer, const char *subject, char user_id[ID_SIZE],
                  struct error **err);

/* From now on they are the same. Errors: ERR_NAME_TAKEN (the provider's name is another user's). */
int identity_link(struct db *db, const char *issuer, const char *subject, const char *user_id,
                  struct error **err);

/* The text of the setting oidc_groups: "GROUP=TEAM:ROLE" with commas between. Errors: ERR_CONFIG.
 */
int identity_check_groups(const char *map, struct error **err);

/* Let the user be in each team that the map names as what the best of these groups gives, and out
 * of it where none does. A membership that somebody else made stays as it is, and the last owner
 * stays. is_in: whether the user is in a group. */
int identity_follow_groups(struct db *db, const char *user_id, const char *map,
                           bool (*is_in)(const char *group, const void *context),
                           const void *context, struct error **err);
