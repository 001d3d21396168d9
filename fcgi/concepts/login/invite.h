/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The link with which a user sets a first password: a user has one at most, and it is good once. */
#pragma once

#include "config/settings.h"
#include "login/credential.h"
#include "login/secret_text.h"

struct invite {
    char id[ID_SIZE];
    struct credential credential; /* of its user */
};

/* A new one in the place of any other; text is for the user alone, the caller wipes it. */
int invite_create(struct db *db, const struct keyring *ring, const struct settings *settings,
                  const char *user_id, char text[SECRET_TEXT_SIZE], int64_t *expires_at_ms,
                  struct error **err);

/* What a text invites to. Unknown, malformed, used and expired ones, and those of disabled users,
 * answer the same ERR_INVALID_CREDENTIALS. */
int invite_find(struct db *db, const struct keyring *ring, const char *text, struct invite *invite,
                struct error **err);

/* Set the password to a hash of password_hash(), end the user's sign-ins and use the invite up.
 * Errors: ERR_INVALID_CREDENTIALS when somebody was quicker. */
int invite_accept(struct db *db, const struct invite *invite, const char *hash, struct error **err);
