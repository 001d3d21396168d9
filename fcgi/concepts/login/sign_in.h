/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The ways in: from what somebody sends to a sign-in and its cookie. Where a password is hashed,
 * callers bound how many run at once. */
#pragma once

#include "login/credential.h"
#include "login/login.h"

struct sign_in {
    struct db *db;
    const struct keyring *ring;
    const struct settings *settings;
    const char *address, *user_agent; /* of who asks; the latter may be NULL */
};

/* With name and password, and a code where the user has a second factor (NULL: none sent). Errors:
 * ERR_INVALID_CREDENTIALS, ERR_SECOND_FACTOR_REQUIRED, ERR_RATE_LIMITED. */
int sign_in_with_password(const struct sign_in *by, const char *name, const char *password,
                          const char *code, struct login *login, char text[SECRET_TEXT_SIZE],
                          struct error **err);

/* As the user whom a proxy names that is trusted; callers have seen to that. No password is looked
 * at. Errors: ERR_INVALID_CREDENTIALS (no such user, or a disabled one). */
int sign_in_as_named(const struct sign_in *by, const char *name, struct login *login,
                     char text[SECRET_TEXT_SIZE], struct error **err);

/* With an invite, which sets the password; login->user_id is there before. Errors:
 * ERR_INVALID_CREDENTIALS, ERR_INVALID_REQUEST (the password), ERR_RATE_LIMITED. */
int sign_in_with_invite(const struct sign_in *by, const char *token, const char *password,
                        struct login *login, char text[SECRET_TEXT_SIZE], struct error **err);

/* Change the password of one who is signed in as login_id, whose other sign-ins end. Errors: as of
 * sign_in_with_password(), with the fields "/old" and "/new". */
int sign_in_change_password(const struct sign_in *by, const char *user_id, const char *login_id,
                            const char *old_password, const char *new_password, struct error **err);

/* Whether it is the password of the user, for what is asked for again before something grave.
 * Errors: ERR_INVALID_CREDENTIALS with the field, ERR_RATE_LIMITED. */
int sign_in_ask_password(const struct sign_in *by, const char *user_id, const char *password,
                         const char *field, struct credential *credential, struct error **err);
