/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The ways to sign in: each checks the sent credentials and makes a sign-in and its cookie. Callers
 * limit how many calls that hash a password run at once. */
#pragma once

#include "login/attempt.h"
#include "login/credential.h"
#include "login/invite.h"
#include "login/login.h"
#include "login/team_link.h"

struct sign_in {
    struct db *db;
    const struct keyring *ring;
    const struct settings *settings;
    const char *address, *user_agent; /* of the client; user_agent may be NULL */
};

/* Make a sign-in of a user whose credentials were checked. Errors: those of login_begin(). */
int sign_in_begin(const struct sign_in *by, const struct credential *credential, const char *method,
                  struct login *login, char text[SECRET_TEXT_SIZE], struct error **err);

/* Give back the charge of a successful attempt. A failure is logged, and does not refuse the
 * user. */
void sign_in_refund(const struct sign_in *by, const struct attempt *attempt);

/* Sign in with name and password, and a code if the user has a second factor (NULL: the request has
 * none). Errors: ERR_INVALID_CREDENTIALS, ERR_SECOND_FACTOR_REQUIRED, ERR_RATE_LIMITED. */
int sign_in_with_password(const struct sign_in *by, const char *name, const char *password,
                          const char *code, struct login *login, char text[SECRET_TEXT_SIZE],
                          struct error **err);

/* Sign in the user whom a trusted proxy names; the caller has checked that it is trusted. Needs no
 * password. Errors: ERR_INVALID_CREDENTIALS (no such user, or a disabled one). */
int sign_in_as_named(const struct sign_in *by, const char *name, struct login *login,
                     char text[SECRET_TEXT_SIZE], struct error **err);

/* Sign in with an invite, and set the password. login->user_id is set before the password is
 * checked. Errors: ERR_INVALID_CREDENTIALS, ERR_INVALID_REQUEST (the password),
 * ERR_RATE_LIMITED. */
int sign_in_with_invite(const struct sign_in *by, const char *token, const char *password,
                        struct login *login, char text[SECRET_TEXT_SIZE], struct error **err);

/* Find the invite of a token, to show it; the caller wipes it. Unknown tokens are limited by
 * address. Errors: ERR_INVALID_CREDENTIALS, ERR_RATE_LIMITED. */
int sign_in_find_invite(const struct sign_in *by, const char *token, struct invite *invite,
                        struct error **err);

/* Find the link into a team of a token. Unknown tokens are limited by address. Errors: those of
 * team_link_find(), ERR_RATE_LIMITED. */
int sign_in_find_link(const struct sign_in *by, const char *token, struct team_link *link,
                      struct error **err);

/* Create a user with a password, make the user a member by the link, and sign in. The transaction
 * that creates the user sets login->user_id. Errors: those of user_create() and team_link_accept(),
 * ERR_INVALID_REQUEST (the password), ERR_RATE_LIMITED. */
int sign_in_as_new_member(const struct sign_in *by, const struct team_link *link, const char *name,
                          const char *password, struct login *login, char text[SECRET_TEXT_SIZE],
                          struct error **err);

/* Change the password of the user who is signed in as login_id, and end the user's other sign-ins.
 * Errors: those of sign_in_ask_password() ("/old"), ERR_INVALID_REQUEST ("/new"),
 * ERR_INVALID_CREDENTIALS (the user's credentials have changed meanwhile). */
int sign_in_change_password(const struct sign_in *by, const char *user_id, const char *login_id,
                            const char *old_password, const char *new_password, struct error **err);

/* Check the user's password again before a grave change. The caller wipes *credential. Errors:
 * ERR_INVALID_CREDENTIALS with the field, ERR_RATE_LIMITED. */
int sign_in_ask_password(const struct sign_in *by, const char *user_id, const char *password,
                         const char *field, struct credential *credential, struct error **err);
