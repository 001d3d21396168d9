/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sign in a program without the user's password (RFC 8628). The program shows a short code. A user
 * who is signed in to the console confirms the code. The program polls with its own secret, and
 * then receives an API key of the user.
 */
#pragma once

#include "account/api_key.h"
#include "config/settings.h"
#include "login/secret_text.h"

#define DEVICE_TTL_S      600
#define DEVICE_INTERVAL_S 5
#define DEVICE_CODE_SIZE  sizeof("BCDF-GHJK")
#define DEVICE_CLIENT_MAX 40    /* bytes of the program's name */
#define DEVICES_MAX       10000 /* pending logins of all addresses */

struct device {
    char id[ID_SIZE];
    char user_code[DEVICE_CODE_SIZE]; /* with its hyphen */
    char client[DEVICE_CLIENT_MAX + 1];
    char address[46];
    int64_t created_at_ms, expires_at_ms;
};

/* Start a login. client and address: of the program. text: receives the program's secret, which the
 * caller wipes. Errors: ERR_INVALID_REQUEST ("/client_name"), ERR_RATE_LIMITED. */
int device_begin(struct db *db, const struct keyring *ring, const char *client, const char *address,
                 struct device *device, char text[SECRET_TEXT_SIZE], struct error **err);

/* Find the login of a code that a user typed. Guesses are limited for each user. Errors:
 * ERR_NOT_FOUND (also for a confirmed, refused or expired login), ERR_RATE_LIMITED. */
int device_find(struct db *db, const char *user_name, const char *code, struct device *device,
                struct error **err);

struct device_answer {
    const char *user_id, *user_name;
    bool is_approved;
    const char *login_id; /* the sign-in with which the key ends; NULL: none */
};

/* Confirm the login as the user, or refuse it. Errors: those of device_find(). */
int device_decide(struct db *db, const struct device_answer *answer, const char *code,
                  struct error **err);

/* The user who confirmed a login. */
struct device_user {
    char id[ID_SIZE], personal_team_id[ID_SIZE];
};

/* Make the API key for the program's secret, once, and return its user. End with api_key_deinit(),
 * and wipe key_text. Errors: ERR_AUTHORIZATION_PENDING, ERR_SLOW_DOWN, ERR_ACCESS_DENIED,
 * ERR_EXPIRED_TOKEN; those of api_key_create(), after which the login is used up too. */
int device_take_key(struct db *db, const struct keyring *ring, const struct settings *settings,
                    const char *text, struct api_key *key, char key_text[API_KEY_TEXT_SIZE],
                    struct device_user *user, struct error **err);

/* Delete old logins, in batches, for 10 s at most. */
int device_purge(struct db *db, struct error **err);
