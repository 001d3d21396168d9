/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>

#include "account/access_end.h"
#include "account/access_revision.h"
#include "base/clock.h"
#include "base/mem.h"
#include "login/credential_row.h"
#include "login/login_row.h"

#define CREDENTIAL_COLUMNS                                                                   \
    "SELECT id, name, credentials_epoch, disabled_at_ms, password_hash, totp_on, totp_step," \
    " totp_sealed FROM users"
DB_STATEMENT(get_statement) = {"credential.get", CREDENTIAL_COLUMNS " WHERE name = ?"};
DB_STATEMENT(get_by_id_statement) = {"credential.get_by_id", CREDENTIAL_COLUMNS " WHERE id = ?"};
DB_STATEMENT(lock_statement) = {
    "credential.lock",
    "SELECT credentials_epoch FROM users WHERE id = ? AND disabled_at_ms IS NULL FOR UPDATE"};
DB_STATEMENT(set_password_statement) = {
    "credential.set_password",
    "UPDATE users SET password_hash = ?, credentials_epoch = credentials_epoch + 1 WHERE id = ?"};
DB_STATEMENT(next_epoch_statement) = {
    "credential.next_epoch",
    "UPDATE users SET credentials_epoch = credentials_epoch + 1 WHERE id = ?"};
DB_STATEMENT(drop_passkeys_statement) = {"credential.drop_passkeys",
                                         "DELETE FROM passkeys WHERE user_id = ?"};
DB_STATEMENT(take_step_statement) = {
    "credential.take_step", "UPDATE users SET totp_step = ? WHERE id = ? AND totp_step < ?"};
DB_STATEMENT(set_totp_statement) = {"credential.set_totp",
                                    "UPDATE users SET totp_sealed = ?, totp_on = ?, totp_step = ?,"
                                    " credentials_epoch = credentials_epoch + 1 WHERE id = ?"};
DB_STATEMENT(list_recovery_statement) = {
    "credential.list_recovery",
    "SELECT hash_key_id, hash FROM recovery_codes WHERE user_id = ? LIMIT 100"};
DB_STATEMENT(take_recovery_statement) = {
    "credential.take_recovery", "DELETE FROM recovery_codes WHERE user_id = ? AND hash = ?"};
DB_STATEMENT(drop_recovery_statement) = {"credential.drop_recovery",
                                         "DELETE FROM recovery_codes WHERE user_id = ?"};
DB_STATEMENT(add_recovery_statement) = {
    "credential.add_recovery",
    "INSERT INTO recovery_codes (user_id, hash_key_id, hash) VALUES (?, ?, ?)"};
DB_STATEMENT(disable_statement) = {"credential.disable",
                                   "UPDATE users SET disabled_at_ms = COALESCE(disabled_at_ms, ?),"
                                   " credentials_epoch = credentials_epoch + 1 WHERE id = ?"};
DB_STATEMENT(drop_invites_statement) = {"credential.drop_invites",
                                        "DELETE FROM invites WHERE user_id = ?"};
DB_STATEMENT(enable_statement) = {"credential.enable",
                                  "UPDATE users SET disabled_at_ms = NULL WHERE id = ?"};

static int no_user(struct error **err)
{
    return error_set(err, ERR_NOT_FOUND, "There is no such user.");
}

static int read_credential(struct db_rows *rows, struct credential *credential, struct error **err)
{
    if (!db_rows_next(rows))
        return no_user(err);
    *credential = (struct credential){0};
    db_copy_text(credential->user_id, rows, 0);
    db_copy_text(credential->user_name, rows, 1);
    credential->epoch = (unsigned)db_get_u64(rows, 2);
    credential->is_disabled = !db_is_null(rows, 3);
    db_copy_text(credential->password_hash, rows, 4);
    credential->has_second_factor = db_get_bool(rows, 5);
    credential->totp_step = db_get_i64(rows, 6);
    const void *sealed = db_get_blob(rows, 7, &credential->totp_sealed_size);
    if (credential->totp_sealed_size > sizeof credential->totp_sealed)
        return error_set(err, ERR_INTERNAL, "the second factor of user %s has a wrong size",
                         credential->user_id);
    if (credential->totp_sealed_size)
        memcpy(credential->totp_sealed, sealed, credential->totp_sealed_size);
    return 0;
}

int credential_get(struct db *db, const char *user_name, struct credential *credential,
                   struct error **err)
{
    db_rows_auto *rows = NULL;
    if (!slug_is_valid(user_name))
        return no_user(err);
    if (db_query(db, &get_statement, DB_ARGS(db_text(user_name)), &rows, err) < 0)
        return -1;
    return read_credential(rows, credential, err);
}

int credential_get_by_id(struct db *db, const char *user_id, struct credential *credential,
                         struct error **err)
{
    db_rows_auto *rows = NULL;
    if (db_query(db, &get_by_id_statement, DB_ARGS(db_text(user_id)), &rows, err) < 0)
        return -1;
    return read_credential(rows, credential, err);
}

int credential_row_lock(struct db *db, const char *user_id, unsigned epoch, struct error **err)
{
    db_rows_auto *rows = NULL;
    if (db_query(db, &lock_statement, DB_ARGS(db_text(user_id)), &rows, err) < 0)
        return -1;
    if (db_rows_next(rows) && db_get_u64(rows, 0) == epoch)
        return 0;
    return error_set(
        err, ERR_INVALID_CREDENTIALS,
        "Another request changed the sign-in data of this user at the same time; try again.");
}

int credential_row_set_password(struct db *db, const char *user_id, const char *hash,
                                struct error **err)
{
    return db_exec(db, &set_password_statement,
                   DB_ARGS(db_text(*hash ? hash : NULL), db_text(user_id)), NULL, err);
}

int credential_row_next_epoch(struct db *db, const char *user_id, struct error **err)
{
    return db_exec(db, &next_epoch_statement, DB_ARGS(db_text(user_id)), NULL, err);
}

static int take(struct db *db, const struct db_statement *statement, const struct db_value *args,
                size_t count, bool *taken, struct error **err)
{
    uint64_t affected;
    if (db_exec(db, statement, args, count, &affected, err) < 0)
        return -1;
    *taken = affected == 1;
    return 0;
}

int credential_row_take_step(struct db *db, const char *user_id, int64_t step, bool *taken,
                             struct error **err)
{
    return take(db, &take_step_statement, DB_ARGS(db_i64(step), db_text(user_id), db_i64(step)),
                taken, err);
}

int credential_row_take_recovery(struct db *db, const char *user_id, const struct secret_hash *code,
                                 bool *taken, struct error **err)
{
    return take(db, &take_recovery_statement,
                DB_ARGS(db_text(user_id), db_blob(code->hash, sizeof code->hash)), taken, err);
}

int credential_row_list_recovery(struct db *db, const char *user_id, struct secret_hash **list,
                                 unsigned *count, struct error **err)
{
    db_rows_auto *rows = NULL;
    *list = NULL;
    *count = 0;
    if (db_query(db, &list_recovery_statement, DB_ARGS(db_text(user_id)), &rows, err) < 0)
        return -1;
    while (db_rows_next(rows)) {
        *list = xreallocarray(*list, *count + 1, sizeof **list);
        secret_hash_read(rows, 0, &(*list)[(*count)++]);
    }
    return 0;
}

int credential_row_set_totp(struct db *db, const char *user_id, const void *sealed, size_t size,
                            bool is_on, int64_t step, struct error **err)
{
    if (db_exec(db, &drop_recovery_statement, DB_ARGS(db_text(user_id)), NULL, err) < 0)
        return -1;
    return db_exec(db, &set_totp_statement,
                   DB_ARGS(size ? db_blob(sealed, size) : db_null(), db_bool(is_on), db_i64(step),
                           db_text(user_id)),
                   NULL, err);
}

int credential_row_add_recovery(struct db *db, const char *user_id, const struct secret_hash *code,
                                struct error **err)
{
    return db_exec(
        db, &add_recovery_statement,
        DB_ARGS(db_text(user_id), db_u64(code->key_id), db_blob(code->hash, sizeof code->hash)),
        NULL, err);
}

static int reset_body(struct db *db, void *context, struct error **err)
{
    const char *user_id = context;
    if (credential_row_set_password(db, user_id, "", err) < 0 ||
        credential_row_set_totp(db, user_id, NULL, 0, false, 0, err) < 0 ||
        db_exec(db, &drop_passkeys_statement, DB_ARGS(db_text(user_id)), NULL, err) < 0)
        return -1;
    return login_row_end_all(db, user_id, NULL, err);
}

int credential_reset(struct db *db, const char *user_id, struct error **err)
{
    return db_transaction(db, reset_body, (void *)user_id, err);
}

static int disable_body(struct db *db, void *context, struct error **err)
{
    const char *user_id = context;
    if (db_exec(db, &disable_statement, DB_ARGS(db_i64(clock_now_ms()), db_text(user_id)), NULL,
                err) < 0 ||
        db_exec(db, &drop_invites_statement, DB_ARGS(db_text(user_id)), NULL, err) < 0)
        return -1;
    /* A pause locks the rows of its sandbox and then of its team. Both may be locked, so they come
     * before the lock of the access revision. */
    if (access_end_of_login(db, user_id, NULL, "", err) < 0 ||
        access_end_of_user(db, user_id, err) < 0 || login_row_end_all(db, user_id, NULL, err) < 0)
        return -1;
    return access_revision_bump(db, user_id, err);
}

int credential_disable(struct db *db, const char *user_id, struct error **err)
{
    return db_transaction(db, disable_body, (void *)user_id, err);
}

static int enable_body(struct db *db, void *context, struct error **err)
{
    const char *user_id = context;
    if (db_exec(db, &enable_statement, DB_ARGS(db_text(user_id)), NULL, err) < 0)
        return -1;
    return access_revision_bump(db, user_id, err);
}

int credential_enable(struct db *db, const char *user_id, struct error **err)
{
    return db_transaction(db, enable_body, (void *)user_id, err);
}
