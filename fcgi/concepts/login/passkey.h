/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Passkeys: a user signs in with a key of a device, which has verified the user itself. So a
 * passkey counts as password and second factor. A user with a password adds and removes passkeys
 * with it.
 *
 * A sealed cookie of the browser carries the challenge and its purpose for some minutes. The row of
 * a passkey has the time of the last challenge that it has signed, and accepts later ones only.
 */
#pragma once

#include "base/buffer.h"
#include "login/passkey_check.h"
#include "login/sign_in.h"

#define PASSKEYS_MAX          10
#define PASSKEY_NAME_MAX      64 /* characters */
#define PASSKEY_CHALLENGE_S   300
#define PASSKEY_MEMORY_MAX    512 /* bytes of the cookie */
#define PASSKEY_USER_MAX      64  /* bytes of a user handle; here, it is the user's id */
#define PASSKEY_CHALLENGE_LEN 32

struct passkey {
    char id[ID_SIZE];
    char name[4 * PASSKEY_NAME_MAX + 1];
    int64_t created_at_ms, last_used_at_ms; /* 0: never */
    int64_t challenge_at_ms;                /* of the last challenge that it signed */
    struct passkey_key key;
};

/* A new challenge in base64url, and the cookie with which the answer comes back. */
struct passkey_challenge {
    char text[BASE64_SIZE(PASSKEY_CHALLENGE_LEN)];
    struct buffer memory; /* the caller frees it */
};

/* Make the challenge for a sign-in. */
int passkey_begin_sign_in(const struct sign_in *by, struct passkey_challenge *challenge,
                          struct error **err);

/* The answer to it, in base64url. */
struct passkey_sign_in {
    const char *memory; /* the cookie; may be NULL */
    const char *credential_id, *user_handle;
    struct passkey_answer answer;
};

/* Sign in. Every refusal of a passkey has the same words. copied: receives the id of a passkey
 * whose counter went back, because somebody may have copied it; else "". login->user_id is set for
 * a known passkey, also after a refusal. Errors: ERR_INVALID_CREDENTIALS, ERR_RATE_LIMITED. */
int passkey_sign_in(const struct sign_in *by, const struct passkey_sign_in *sent,
                    struct login *login, char text[SECRET_TEXT_SIZE], char copied[ID_SIZE],
                    struct error **err);

/* Check the password, and make the challenge for a new passkey of the sign-in's user. Errors:
 * those of sign_in_ask_password(). */
int passkey_begin_add(const struct sign_in *by, const struct login *login, const char *password,
                      struct passkey_challenge *challenge, struct error **err);

/* Add the passkey of an answer. The id is set in the transaction. Errors: ERR_INVALID_CREDENTIALS
 * (the cookie is of another sign-in, too old, or used), ERR_INVALID_REQUEST (the name, the answer,
 * too many). */
int passkey_add(const struct sign_in *by, const struct login *login, const char *memory,
                const char *name, const struct passkey_answer *answer, struct passkey *passkey,
                struct error **err);

/* List the passkeys of a user, oldest first; the caller frees the array. */
int passkey_list(struct db *db, const char *user_id, struct passkey **passkeys, unsigned *count,
                 struct error **err);

/* Rename a passkey. Errors: ERR_NOT_FOUND, ERR_INVALID_REQUEST. */
int passkey_rename(struct db *db, const char *user_id, const char *id, const char *name,
                   struct error **err);

/* Remove a passkey with the user's password. Errors: ERR_NOT_FOUND, those of
 * sign_in_ask_password(). */
int passkey_remove(const struct sign_in *by, const char *user_id, const char *id,
                   const char *password, struct error **err);
