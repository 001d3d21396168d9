/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who is signed in to the console: a row each, and a cookie whose secret the row has a keyed hash
 * of. A sign-in ends when its user ends it, some time after its last request, at a fixed time after
 * its beginning, and with its user.
 */
#pragma once

#include "account/api_key.h"
#include "config/settings.h"
#include "login/secret_text.h"

#define LOGINS_MAX       100 /* of a user; a new one ends the oldest */
#define LOGIN_AGENT_SIZE 256

struct login {
    char id[ID_SIZE];
    char user_id[ID_SIZE];
    char user_name[SLUG_MAX + 1];
    const char *method; /* how: "password"; static */
    char address[46];
    char user_agent[LOGIN_AGENT_SIZE];
    int64_t created_at_ms, last_seen_at_ms;
    int64_t idle_at_ms;    /* it ends then without a request before */
    int64_t expires_at_ms; /* it ends then in any case */
};

/* When it ends unless something happens. */
int64_t login_ends_at_ms(const struct login *login);

struct login_request {
    const char *user_id, *user_name;
    unsigned epoch; /* of the user's credential when it was checked */
    const char *method;
    const char *address, *user_agent; /* the latter may be NULL */
};

/* text is the cookie's value, for the user alone; the caller wipes it. Errors:
 * ERR_INVALID_CREDENTIALS when the user was disabled, or the credential changed, meanwhile. */
int login_begin(struct db *db, const struct keyring *ring, const struct settings *settings,
                const struct login_request *request, struct login *login,
                char text[SECRET_TEXT_SIZE], struct error **err);

/* The principal, and the sign-in, behind a cookie's value (NULL: none sent). Unknown, malformed and
 * ended ones answer the same ERR_UNAUTHORIZED. One query; the request is noted once a minute. */
int login_authenticate(struct db *db, const struct keyring *ring, const struct settings *settings,
                       const char *text, struct principal *principal, struct login *login,
                       struct error **err);

/* Those of a user that have not ended, newest first; the caller frees the array. */
int login_list(struct db *db, const char *user_id, struct login **logins, unsigned *count,
               struct error **err);

/* Effective for the next request. Errors: ERR_NOT_FOUND. */
int login_end(struct db *db, const char *user_id, const char *id, struct error **err);

/* Drop ended ones, at most a thousand a call. */
int login_purge(struct db *db, struct error **err);
