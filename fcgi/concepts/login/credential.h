/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What lets a user in: a password, and where the user has turned it on a code besides (otp.h), for
 * which each of ten recovery codes stands in once. The secret of the codes is sealed with the key
 * ring; of a recovery code there is a keyed hash.
 */
#pragma once

#include "account/account.h"
#include "crypto/keyring.h"
#include "crypto/otp.h"
#include "crypto/password.h"

#define RECOVERY_CODES     10
#define RECOVERY_CODE_SIZE sizeof("abcd-efgh-ijkl-mnop")
#define CODE_MAX           64 /* bytes of a code that is looked at */
#define TOTP_SEALED_MAX    255

struct credential {
    char user_id[ID_SIZE];
    char user_name[SLUG_MAX + 1];
    unsigned epoch; /* moves on whenever one of these changes */
    bool is_disabled;
    char password_hash[PASSWORD_HASH_SIZE]; /* "": none yet */
    bool has_second_factor;
    int64_t totp_step; /* the last whose code was taken */
    unsigned char totp_sealed[TOTP_SEALED_MAX];
    size_t totp_sealed_size; /* 0: none, not even one that waits for its first code */
};

/* Errors: ERR_NOT_FOUND. */
int credential_get(struct db *db, const char *user_name, struct credential *credential,
                   struct error **err);
int credential_get_by_id(struct db *db, const char *user_id, struct credential *credential,
                         struct error **err);

/* Whether it may be a password of that user. Errors: ERR_INVALID_REQUEST with the field. */
int credential_check_new(const char *user_name, const char *password, const char *field,
                         struct error **err);

/* Take a code, or a recovery code, which is good for once. Errors: ERR_INVALID_CREDENTIALS. */
int credential_take_code(struct db *db, const struct keyring *ring,
                         const struct credential *credential, const char *code, struct error **err);

/* Put a hash of password_hash() in the place of the password, and end all of the user's sign-ins
 * but login_id (NULL: all). Errors: ERR_INVALID_CREDENTIALS when the credential is not the user's
 * any more. */
int credential_set_password(struct db *db, const struct credential *credential, const char *hash,
                            const char *login_id, struct error **err);

/* A new secret, which counts from its first code on. Errors: ERR_INVALID_REQUEST when the second
 * factor is on. */
int credential_begin_totp(struct db *db, const struct keyring *ring,
                          const struct credential *credential, char secret[OTP_SECRET_SIZE],
                          struct error **err);

/* Turn it on with its first code. The caller wipes the codes. Errors: ERR_INVALID_REQUEST (not
 * begun, on already, a wrong code). */
int credential_confirm_totp(struct db *db, const struct keyring *ring,
                            const struct credential *credential, const char *code,
                            char codes[RECOVERY_CODES][RECOVERY_CODE_SIZE], struct error **err);

/* Turn it off, and drop the recovery codes. */
int credential_end_totp(struct db *db, const struct credential *credential, struct error **err);

/* Take away all that lets the user in, and end the user's sign-ins. */
int credential_reset(struct db *db, const char *user_id, struct error **err);

/* A disabled user does not sign in, and neither sign-ins nor keys are of use. */
int credential_disable(struct db *db, const char *user_id, struct error **err);
int credential_enable(struct db *db, const char *user_id, struct error **err);
