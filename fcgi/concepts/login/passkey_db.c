/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>

#include "base/clock.h"
#include "base/panic.h"
#include "login/credential_row.h"
#include "login/passkey_row.h"

#define PASSKEY_COLUMNS                                                                      \
    "SELECT id, name, created_at_ms, last_used_at_ms, credential_id, algorithm, public_key," \
    " sign_count, challenge_at_ms, user_id FROM passkeys"
DB_STATEMENT(find_statement) = {"passkey.find", PASSKEY_COLUMNS " WHERE credential_id = ?"};
DB_STATEMENT(list_statement) = {"passkey.list",
                                PASSKEY_COLUMNS " WHERE user_id = ? ORDER BY id LIMIT 100"};
DB_STATEMENT(use_statement) = {
    "passkey.use",
    "UPDATE passkeys SET challenge_at_ms = ?, sign_count = ?, last_used_at_ms = ? WHERE id = ?"
    " AND challenge_at_ms < ? AND (sign_count < ? OR (sign_count = 0 AND ? = 0))"};
DB_STATEMENT(count_statement) = {"passkey.count",
                                 "SELECT COUNT(*) FROM passkeys WHERE user_id = ?"};
DB_STATEMENT(insert_statement) = {
    "passkey.insert",
    "INSERT INTO passkeys (id, user_id, credential_id, algorithm, public_key, sign_count, name,"
    " created_at_ms) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"};
DB_STATEMENT(rename_statement) = {"passkey.rename",
                                  "UPDATE passkeys SET name = ? WHERE id = ? AND user_id = ?"};
DB_STATEMENT(delete_statement) = {"passkey.delete",
                                  "DELETE FROM passkeys WHERE id = ? AND user_id = ?"};

static size_t copy_blob(const struct db_rows *rows, unsigned column, void *out, size_t capacity)
{
    size_t size;
    const void *bytes = db_get_blob(rows, column, &size);
    if (size > capacity)
        panic("a passkey has a wrong size");
    memcpy(out, bytes, size);
    return size;
}

static void read_passkey(const struct db_rows *rows, struct passkey *passkey)
{
    struct passkey_key *key = &passkey->key;
    db_copy_text(passkey->id, rows, 0);
    db_copy_text(passkey->name, rows, 1);
    passkey->created_at_ms = db_get_i64(rows, 2);
    passkey->last_used_at_ms = db_get_i64(rows, 3);
    key->id_size = copy_blob(rows, 4, key->id, sizeof key->id);
    key->algorithm = (int)db_get_i64(rows, 5);
    key->public_key_size = copy_blob(rows, 6, key->public_key, sizeof key->public_key);
    key->sign_count = (uint32_t)db_get_u64(rows, 7);
    passkey->challenge_at_ms = db_get_i64(rows, 8);
}

int passkey_row_find(struct db *db, const void *id, size_t size, bool *found,
                     struct passkey *passkey, char user_id[ID_SIZE], struct error **err)
{
    db_rows_auto *rows = NULL;
    if (db_query(db, &find_statement, DB_ARGS(db_blob(id, size)), &rows, err) < 0)
        return -1;
    *found = db_rows_next(rows);
    if (*found) {
        read_passkey(rows, passkey);
        snprintf(user_id, ID_SIZE, "%s", db_get_text(rows, 9));
    }
    return 0;
}

int passkey_list(struct db *db, const char *user_id, struct passkey **passkeys, unsigned *count,
                 struct error **err)
{
    return DB_LIST(db, &list_statement, DB_ARGS(db_text(user_id)), read_passkey, passkeys, count,
                   err);
}

int passkey_row_use(struct db *db, const char *id, int64_t challenge_at_ms, uint32_t sign_count,
                    bool *used, struct error **err)
{
    uint64_t affected;
    struct db_value at = db_i64(challenge_at_ms), counter = db_u64(sign_count);
    if (db_exec(db, &use_statement,
                DB_ARGS(at, counter, db_i64(clock_now_ms()), db_text(id), at, counter, counter),
                &affected, err) < 0)
        return -1;
    *used = affected == 1;
    return 0;
}

struct change {
    const char *user_id;
    unsigned epoch;
    const struct passkey *passkey; /* the new one, or */
    const char *id;                /* the one to delete */
};

static int check_count(struct db *db, const char *user_id, struct error **err)
{
    uint64_t count;
    if (DB_NUMBER(db, &count_statement, DB_ARGS(db_text(user_id)), &count, err) < 0)
        return -1;
    if (count < PASSKEYS_MAX)
        return 0;
    return error_set(err, ERR_INVALID_REQUEST, "You have %d passkeys; remove one first.",
                     PASSKEYS_MAX);
}

static int insert_body(struct db *db, void *context, struct error **err)
{
    const struct change *change = context;
    const struct passkey *passkey = change->passkey;
    const struct passkey_key *key = &passkey->key;
    if (credential_row_lock(db, change->user_id, change->epoch, err) < 0 ||
        check_count(db, change->user_id, err) < 0 ||
        credential_row_next_epoch(db, change->user_id, err) < 0)
        return -1;
    return db_exec(db, &insert_statement,
                   DB_ARGS(db_text(passkey->id), db_text(change->user_id),
                           db_blob(key->id, key->id_size), db_i64(key->algorithm),
                           db_blob(key->public_key, key->public_key_size), db_u64(key->sign_count),
                           db_text(passkey->name), db_i64(passkey->created_at_ms)),
                   NULL, err);
}

int passkey_row_insert(struct db *db, const char *user_id, unsigned epoch,
                       const struct passkey *passkey, struct error **err)
{
    struct change change = {user_id, epoch, passkey, NULL};
    if (db_transaction(db, insert_body, &change, err) == 0)
        return 0;
    if (!error_clear_if(err, ERR_DB_DUPLICATE))
        return -1;
    return error_set(err, ERR_INVALID_REQUEST, "This passkey cannot be added; make another one.");
}

int passkey_row_rename(struct db *db, const char *user_id, const char *id, const char *name,
                       bool *found, struct error **err)
{
    uint64_t affected;
    if (db_exec(db, &rename_statement, DB_ARGS(db_text(name), db_text(id), db_text(user_id)),
                &affected, err) < 0)
        return -1;
    *found = affected == 1;
    return 0;
}

static int delete_body(struct db *db, void *context, struct error **err)
{
    const struct change *change = context;
    uint64_t affected;
    if (credential_row_lock(db, change->user_id, change->epoch, err) < 0 ||
        db_exec(db, &delete_statement, DB_ARGS(db_text(change->id), db_text(change->user_id)),
                &affected, err) < 0)
        return -1;
    return affected ? credential_row_next_epoch(db, change->user_id, err)
                    : error_set(err, ERR_NOT_FOUND, "There is no such passkey.");
}

int passkey_row_delete(struct db *db, const char *user_id, unsigned epoch, const char *id,
                       struct error **err)
{
    struct change change = {user_id, epoch, NULL, id};
    return db_transaction(db, delete_body, &change, err);
}
