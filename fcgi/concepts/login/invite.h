/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Links with which users set their first password. A user has one at most, and it works once. */
#pragma once

#include "config/settings.h"
#include "login/credential.h"
#include "login/secret_text.h"

struct invite {
    char id[ID_SIZE];
    int64_t expires_at_ms;
    struct credential credential; /* its user's */
};

/* Make an invite, which replaces an earlier one. text: for the user only; the caller wipes it. */
int invite_create(struct db *db, const struct keyring *ring, const struct settings *settings,
                  const char *user_id, char text[SECRET_TEXT_SIZE], int64_t *expires_at_ms,
                  struct error **err);

/* Create a user, as user_create(), with an invite, in one transaction. */
int invite_create_user(struct db *db, const struct keyring *ring, const struct settings *settings,
                       const char *name, struct user *user, char text[SECRET_TEXT_SIZE],
                       int64_t *expires_at_ms, struct error **err);

/* Find the invite of a text. Unknown, malformed, used and expired texts, and invites of disabled
 * users, get the same ERR_INVALID_CREDENTIALS. */
int invite_find(struct db *db, const struct keyring *ring, const char *text, struct invite *invite,
                struct error **err);

/* Set the password to a hash of password_hash(), end the user's sign-ins and use up the invite.
 * Errors: ERR_INVALID_CREDENTIALS when another request was faster. */
int invite_accept(struct db *db, const struct invite *invite, const char *hash, struct error **err);
