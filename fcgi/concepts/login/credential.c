/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "login/credential.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "crypto/aead.h"
#include "login/credential_row.h"
#include "login/login_row.h"

#define RECOVERY_BYTES  10 /* 80 bits: sixteen characters */
#define RECOVERY_LENGTH 16

/* --- passwords --- */

int credential_check_length(const char *password, const char *field, struct error **err)
{
    size_t length = strlen(password);
    if (length >= PASSWORD_MIN && length <= PASSWORD_MAX)
        return 0;
    return error_set_field(err, ERR_INVALID_REQUEST, field,
                           "A password has %d to %d bytes; you can use a few words.", PASSWORD_MIN,
                           PASSWORD_MAX);
}

int credential_check_new(const char *user_name, const char *password, const char *field,
                         struct error **err)
{
    if (credential_check_length(password, field, err) < 0)
        return -1;
    if (str_equal(user_name, password) ||
        strspn(password, (char[]){password[0], '\0'}) == strlen(password))
        return error_set_field(err, ERR_INVALID_REQUEST, field,
                               "This password is too easy to guess; you can use a few words.");
    return 0;
}

struct password_change {
    const struct credential *credential;
    const char *hash, *login_id;
};

static int set_password_body(struct db *db, void *context, struct error **err)
{
    const struct password_change *change = context;
    const struct credential *credential = change->credential;
    if (credential_row_lock(db, credential->user_id, credential->epoch, err) < 0 ||
        credential_row_set_password(db, credential->user_id, change->hash, err) < 0)
        return -1;
    return login_row_end_all(db, credential->user_id, change->login_id, err);
}

int credential_set_password(struct db *db, const struct credential *credential, const char *hash,
                            const char *login_id, struct error **err)
{
    struct password_change change = {credential, hash, login_id};
    return db_transaction(db, set_password_body, &change, err);
}

/* --- recovery codes --- */

/* Write the text to hash: the user's id and the code, in lower case without blanks and hyphens. "":
 * not a recovery code. */
static void recovery_text(const char *user_id, const char *code,
                          char out[ID_SIZE + 1 + RECOVERY_LENGTH + 1])
{
    size_t length = 0;
    char bare[RECOVERY_LENGTH + 1];
    out[0] = '\0';
    for (; *code; code++) {
        if (*code == '-' || *code == ' ')
            continue;
        if (length == RECOVERY_LENGTH)
            return;
        bare[length++] = *code >= 'A' && *code <= 'Z' ? (char)(*code - 'A' + 'a') : *code;
    }
    bare[length] = '\0';
    if (length == RECOVERY_LENGTH)
        snprintf(out, ID_SIZE + 1 + RECOVERY_LENGTH + 1, "%s %s", user_id, bare);
    mem_wipe(bare, sizeof bare);
}

static void new_recovery_code(char out[RECOVERY_CODE_SIZE])
{
    unsigned char noise[RECOVERY_BYTES];
    char text[RECOVERY_LENGTH + 2];
    random_fill(noise, sizeof noise);
    base32_encode(noise, sizeof noise, text);
    for (char *c = text; *c; c++)
        if (*c >= 'A' && *c <= 'Z')
            *c = (char)(*c - 'A' + 'a');
    snprintf(out, RECOVERY_CODE_SIZE, "%.4s-%.4s-%.4s-%.4s", text, text + 4, text + 8, text + 12);
    mem_wipe(noise, sizeof noise);
    mem_wipe(text, sizeof text);
}

/* Return whether the text has this hash. */
static bool is_kept(const struct keyring *ring, const char *text, const struct secret_hash *kept)
{
    unsigned char hash[MAC_BYTES];
    error_auto ignored = NULL;
    bool equal = secret_hash_text(ring, kept->key_id, text, hash, &ignored) == 0 &&
                 mac_equal(hash, kept->hash);
    mem_wipe(hash, sizeof hash);
    return equal;
}

static int take_recovery(struct db *db, const struct keyring *ring, const char *user_id,
                         const char *code, bool *taken, struct error **err)
{
    char text[ID_SIZE + 1 + RECOVERY_LENGTH + 1];
    autofree struct secret_hash *kept = NULL;
    unsigned count;
    int result = 0;
    *taken = false;
    recovery_text(user_id, code, text);
    if (!text[0])
        return 0;
    result = credential_row_list_recovery(db, user_id, &kept, &count, err);
    for (unsigned i = 0; result == 0 && i < count && !*taken; i++)
        if (is_kept(ring, text, &kept[i]))
            result = credential_row_take_recovery(db, user_id, &kept[i], taken, err);
    mem_wipe(text, sizeof text);
    return result;
}

/* --- codes of the second factor --- */

static int open_secret(const struct keyring *ring, const struct credential *credential,
                       unsigned char secret[OTP_SECRET_BYTES], struct error **err)
{
    struct buffer plain = BUFFER_INIT(OTP_SECRET_BYTES);
    int result = aead_open(ring, credential->totp_sealed, credential->totp_sealed_size,
                           credential->user_id, &plain, err);
    if (result == 0 && plain.size != OTP_SECRET_BYTES)
        result = error_set(err, ERR_INTERNAL, "the second factor of user %s has a wrong size",
                           credential->user_id);
    if (result == 0)
        memcpy(secret, plain.data, OTP_SECRET_BYTES);
    buffer_wipe(&plain);
    return result;
}

/* Find the time step of a code. *step 0: the code is wrong. */
static int find_step(const struct keyring *ring, const struct credential *credential,
                     const char *code, int64_t *step, struct error **err)
{
    unsigned char secret[OTP_SECRET_BYTES];
    *step = 0;
    if (open_secret(ring, credential, secret, err) < 0)
        return -1;
    otp_find_step(secret, code, clock_now_ms(), credential->totp_step, step);
    mem_wipe(secret, sizeof secret);
    return 0;
}

int credential_take_code(struct db *db, const struct keyring *ring,
                         const struct credential *credential, const char *code, struct error **err)
{
    int64_t step;
    bool taken = false;
    if (find_step(ring, credential, code, &step, err) < 0)
        return -1;
    int result = step ? credential_row_take_step(db, credential->user_id, step, &taken, err)
                      : take_recovery(db, ring, credential->user_id, code, &taken, err);
    if (result == 0 && !taken)
        return error_set_field(err, ERR_INVALID_CREDENTIALS, "/code",
                               "The code is wrong, has expired, or was used already.");
    return result;
}

struct totp_change {
    const struct credential *credential;
    const void *sealed;
    size_t sealed_size;
    bool is_on;
    int64_t step;
    const struct secret_hash *recovery; /* RECOVERY_CODES hashes, or NULL */
};

static int totp_body(struct db *db, void *context, struct error **err)
{
    const struct totp_change *change = context;
    const struct credential *credential = change->credential;
    if (credential_row_lock(db, credential->user_id, credential->epoch, err) < 0 ||
        credential_row_set_totp(db, credential->user_id, change->sealed, change->sealed_size,
                                change->is_on, change->step, err) < 0)
        return -1;
    for (unsigned i = 0; change->recovery && i < RECOVERY_CODES; i++)
        if (credential_row_add_recovery(db, credential->user_id, &change->recovery[i], err) < 0)
            return -1;
    return 0;
}

static int is_on_already(struct error **err)
{
    return error_set(err, ERR_INVALID_REQUEST,
                     "The second factor is on already; turn it off first.");
}

int credential_begin_totp(struct db *db, const struct keyring *ring,
                          const struct credential *credential, char secret[OTP_SECRET_SIZE],
                          struct error **err)
{
    unsigned char bytes[OTP_SECRET_BYTES];
    buffer_auto sealed = BUFFER_INIT(TOTP_SEALED_MAX);
    if (credential->has_second_factor)
        return is_on_already(err);
    if (!credential->password_hash[0])
        return error_set(err, ERR_INVALID_REQUEST,
                         "A second factor needs a password, and you have none, because you sign in "
                         "another way. Ask an operator for a link that sets one.");
    random_fill(bytes, sizeof bytes);
    base32_encode(bytes, sizeof bytes, secret);
    int result = aead_seal(ring, bytes, sizeof bytes, credential->user_id, &sealed, err);
    mem_wipe(bytes, sizeof bytes);
    struct totp_change change = {credential, sealed.data, sealed.size, false, 0, NULL};
    return result < 0 ? -1 : db_transaction(db, totp_body, &change, err);
}

static int new_recovery_codes(const struct keyring *ring, const char *user_id,
                              char codes[RECOVERY_CODES][RECOVERY_CODE_SIZE],
                              struct secret_hash kept[RECOVERY_CODES], struct error **err)
{
    char text[ID_SIZE + 1 + RECOVERY_LENGTH + 1];
    int result = 0;
    for (unsigned i = 0; result == 0 && i < RECOVERY_CODES; i++) {
        new_recovery_code(codes[i]);
        recovery_text(user_id, codes[i], text);
        kept[i].key_id = keyring_newest(ring);
        result = secret_hash_text(ring, kept[i].key_id, text, kept[i].hash, err);
    }
    mem_wipe(text, sizeof text);
    return result;
}

int credential_confirm_totp(struct db *db, const struct keyring *ring,
                            const struct credential *credential, const char *code,
                            char codes[RECOVERY_CODES][RECOVERY_CODE_SIZE], struct error **err)
{
    struct secret_hash kept[RECOVERY_CODES];
    int64_t step;
    if (credential->has_second_factor)
        return is_on_already(err);
    if (!credential->totp_sealed_size)
        return error_set(err, ERR_INVALID_REQUEST,
                         "There is no secret for codes yet; request one first (POST /v1/me/totp).");
    if (find_step(ring, credential, code, &step, err) < 0)
        return -1;
    if (!step)
        return error_set_field(
            err, ERR_INVALID_REQUEST, "/code",
            "This is not the present code. Check that the clock of your device is right.");
    struct totp_change change = {
        credential, credential->totp_sealed, credential->totp_sealed_size, true, step, kept};
    if (new_recovery_codes(ring, credential->user_id, codes, kept, err) < 0)
        return -1;
    return db_transaction(db, totp_body, &change, err);
}

int credential_end_totp(struct db *db, const struct credential *credential, struct error **err)
{
    struct totp_change change = {.credential = credential};
    return db_transaction(db, totp_body, &change, err);
}
