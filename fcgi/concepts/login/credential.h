/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The credentials of a user: a password and, if the user has turned it on, a code as second factor
 * (otp.h). Each of ten recovery codes replaces such a code once. The row has the secret of the
 * codes sealed with the key ring, and a keyed hash of each recovery code.
 */
#pragma once

#include "account/account.h"
#include "crypto/keyring.h"
#include "crypto/otp.h"
#include "crypto/password.h"

#define RECOVERY_CODES     10
#define RECOVERY_CODE_SIZE sizeof("abcd-efgh-ijkl-mnop")
#define CODE_MAX           64 /* bytes; longer codes are not checked */
#define TOTP_SEALED_MAX    255

struct credential {
    char user_id[ID_SIZE];
    char user_name[SLUG_MAX + 1];
    unsigned epoch; /* changes with each change of these credentials */
    bool is_disabled;
    char password_hash[PASSWORD_HASH_SIZE]; /* "": no password yet */
    bool has_second_factor;
    int64_t totp_step; /* the step of the last code that was accepted */
    unsigned char totp_sealed[TOTP_SEALED_MAX];
    size_t totp_sealed_size; /* 0: no secret, not even one that waits for its first code */
};

/* Read the credentials of a user. Errors: ERR_NOT_FOUND. */
int credential_get(struct db *db, const char *user_name, struct credential *credential,
                   struct error **err);
int credential_get_by_id(struct db *db, const char *user_id, struct credential *credential,
                         struct error **err);

/* Check the length of a new password. Errors: ERR_INVALID_REQUEST with the field. */
int credential_check_length(const char *password, const char *field, struct error **err);

/* Check that a new password is acceptable for the user. Errors: ERR_INVALID_REQUEST with the
 * field. */
int credential_check_new(const char *user_name, const char *password, const char *field,
                         struct error **err);

/* Use up a code, or a recovery code; each is accepted once. Errors: ERR_INVALID_CREDENTIALS. */
int credential_take_code(struct db *db, const struct keyring *ring,
                         const struct credential *credential, const char *code, struct error **err);

/* Replace the password by a hash of password_hash(), and end all sign-ins of the user except
 * login_id (NULL: all). Errors: ERR_INVALID_CREDENTIALS when the user's credentials have changed
 * meanwhile. */
int credential_set_password(struct db *db, const struct credential *credential, const char *hash,
                            const char *login_id, struct error **err);

/* Make a secret for the second factor. It has no effect before credential_confirm_totp(). Errors:
 * ERR_INVALID_REQUEST when the second factor is on, and for a user without a password, who could
 * not turn it off; ERR_INVALID_CREDENTIALS when the user's credentials have changed meanwhile. */
int credential_begin_totp(struct db *db, const struct keyring *ring,
                          const struct credential *credential, char secret[OTP_SECRET_SIZE],
                          struct error **err);

/* Turn the second factor on with its first code, and make the recovery codes; the caller wipes
 * them. Errors: ERR_INVALID_REQUEST (no secret, on already, a wrong code), ERR_INVALID_CREDENTIALS
 * (the user's credentials have changed meanwhile). */
int credential_confirm_totp(struct db *db, const struct keyring *ring,
                            const struct credential *credential, const char *code,
                            char codes[RECOVERY_CODES][RECOVERY_CODE_SIZE], struct error **err);

/* Turn the second factor off, and delete the recovery codes. Errors: ERR_INVALID_CREDENTIALS when
 * the user's credentials have changed meanwhile. */
int credential_end_totp(struct db *db, const struct credential *credential, struct error **err);

/* Remove all credentials of the user, also passkeys, and end the user's sign-ins. */
int credential_reset(struct db *db, const char *user_id, struct error **err);

/* Disable or enable a user. A disabled user cannot sign in; existing sign-ins and keys are
 * refused. */
int credential_disable(struct db *db, const char *user_id, struct error **err);
int credential_enable(struct db *db, const char *user_id, struct error **err);
