/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A program asks to be let in as somebody, without their password (RFC 8628): it shows a short
 * code, which somebody who is signed in to the console confirms, and asks with a secret of its own
 * whether that has happened. Then it is given an API key of that user.
 */
#pragma once

#include "account/api_key.h"
#include "config/settings.h"
#include "login/secret_text.h"

#define DEVICE_TTL_S      600
#define DEVICE_INTERVAL_S 5
#define DEVICE_CODE_SIZE  sizeof("BCDF-GHJK")
#define DEVICE_CLIENT_MAX 40    /* bytes of what the program calls itself */
#define DEVICES_MAX       10000 /* that wait, of all addresses */

struct device {
    char id[ID_SIZE];
    char user_code[DEVICE_CODE_SIZE]; /* as it is shown */
    char client[DEVICE_CLIENT_MAX + 1];
    char address[46];
    int64_t created_at_ms, expires_at_ms;
};

/* Begin. client and address are those of the program that asks; text is its secret, which the
 * caller wipes. Errors: ERR_INVALID_REQUEST ("/client_name"), ERR_RATE_LIMITED. */
int device_begin(struct db *db, const struct keyring *ring, const char *client, const char *address,
                 struct device *device, char text[SECRET_TEXT_SIZE], struct error **err);

/* What a code of somebody's typing stands for; guesses are slowed by user. Errors: ERR_NOT_FOUND
 * (also one that is confirmed, refused or too old), ERR_RATE_LIMITED. */
int device_find(struct db *db, const char *user_name, const char *code, struct device *device,
                struct error **err);

struct device_answer {
    const char *user_id, *user_name;
    bool is_approved;
    const char *login_id; /* the sign-in with which the key ends; NULL: none */
};

/* Let it in as the user, or refuse it. Errors: as of device_find(). */
int device_decide(struct db *db, const struct device_answer *answer, const char *code,
                  struct error **err);

/* The API key, once, for the secret, and whose it is; for api_key_deinit(), and key_text is wiped
 * by the caller. Errors: ERR_AUTHORIZATION_PENDING, ERR_SLOW_DOWN, ERR_ACCESS_DENIED,
 * ERR_EXPIRED_TOKEN. */
int device_take_key(struct db *db, const struct keyring *ring, const struct settings *settings,
                    const char *text, struct api_key *key, char key_text[API_KEY_TEXT_SIZE],
                    char user_id[ID_SIZE], struct error **err);

/* Drop old ones, at most a thousand a call. */
int device_purge(struct db *db, struct error **err);
