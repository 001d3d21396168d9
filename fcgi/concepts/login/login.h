/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sign-ins to the console. Each has a row and a cookie; the row has a keyed hash of the cookie's
 * secret. A sign-in ends when its user ends it, some time after its last request, at a fixed time
 * after its start, and with its user.
 */
#pragma once

#include "account/api_key.h"
#include "config/settings.h"
#include "login/secret_text.h"

#define LOGINS_MAX       100 /* of one user; a new sign-in ends the oldest */
#define LOGIN_AGENT_SIZE 256

struct login {
    char id[ID_SIZE];
    char user_id[ID_SIZE];
    char user_name[SLUG_MAX + 1];
    const char *method; /* "password" and so on; static */
    char address[46];
    char user_agent[LOGIN_AGENT_SIZE];
    int64_t created_at_ms, last_seen_at_ms;
    int64_t idle_at_ms;    /* it ends at this time unless a request comes before */
    int64_t expires_at_ms; /* it ends at this time in any case */
};

/* Return the time at which it ends if no request comes. */
int64_t login_ends_at_ms(const struct login *login);

struct login_request {
    const char *user_id, *user_name;
    unsigned epoch; /* of the user's credentials at the time of the check */
    const char *method;
    const char *address, *user_agent; /* user_agent may be NULL */
};

/* Insert a sign-in. text: the cookie's value, for the user only; the caller wipes it. Errors:
 * ERR_INVALID_CREDENTIALS when the user was disabled, or the credentials changed, meanwhile. */
int login_begin(struct db *db, const struct keyring *ring, const struct settings *settings,
                const struct login_request *request, struct login *login,
                char text[SECRET_TEXT_SIZE], struct error **err);

/* Find the principal and the sign-in of a cookie's value (NULL: the request has none). Unknown,
 * malformed and ended sign-ins get the same ERR_UNAUTHORIZED. Sends one query. It is no use of the
 * sign-in: its idle time continues. */
int login_check(struct db *db, const struct keyring *ring, const char *text,
                struct principal *principal, struct login *login, struct error **err);

/* Do the same for a new request, which begins the idle time again. Records the request at most once
 * a minute, or more often if login_idle_s is short. */
int login_authenticate(struct db *db, const struct keyring *ring, const struct settings *settings,
                       const char *text, struct principal *principal, struct login *login,
                       struct error **err);

/* List a user's sign-ins that have not ended, newest first; the caller frees the array. */
int login_list(struct db *db, const char *user_id, struct login **logins, unsigned *count,
               struct error **err);

/* End a sign-in; the next request with it fails. Errors: ERR_NOT_FOUND. */
int login_end(struct db *db, const char *user_id, const char *id, struct error **err);

/* Delete ended sign-ins, in batches, for a limited time. */
int login_purge(struct db *db, struct error **err);
