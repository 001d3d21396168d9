/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdio.h>

#include "base/clock.h"
#include "login/credential_row.h"
#include "login/invite_row.h"
#include "login/login_row.h"

DB_STATEMENT(drop_statement) = {"invite.drop", "DELETE FROM invites WHERE user_id = ?"};
DB_STATEMENT(insert_statement) = {
    "invite.insert",
    "INSERT INTO invites (id, user_id, hash_key_id, hash, expires_at_ms) VALUES (?, ?, ?, ?, ?)"};
DB_STATEMENT(find_statement) = {"invite.find",
                                "SELECT hash_key_id, hash, user_id, expires_at_ms FROM invites "
                                "WHERE id = ? AND expires_at_ms > ?"};
DB_STATEMENT(use_statement) = {"invite.use", "DELETE FROM invites WHERE id = ?"};

int invite_row_put(struct db *db, void *context, struct error **err)
{
    const struct invite_put *put = context;
    if (db_exec(db, &drop_statement, DB_ARGS(db_text(put->user_id)), NULL, err) < 0)
        return -1;
    return db_exec(db, &insert_statement,
                   DB_ARGS(db_text(put->id), db_text(put->user_id), db_u64(put->kept.key_id),
                           db_blob(put->kept.hash, sizeof put->kept.hash),
                           db_i64(put->expires_at_ms)),
                   NULL, err);
}

int invite_row_find(struct db *db, struct invite *invite, struct secret_hash *kept,
                    char user_id[ID_SIZE], struct error **err)
{
    db_rows_auto *rows = NULL;
    user_id[0] = '\0';
    if (db_query(db, &find_statement, DB_ARGS(db_text(invite->id), db_i64(clock_now_ms())), &rows,
                 err) < 0)
        return -1;
    if (!db_rows_next(rows))
        return 0;
    secret_hash_read(rows, 0, kept);
    snprintf(user_id, ID_SIZE, "%s", db_get_text(rows, 2));
    invite->expires_at_ms = db_get_i64(rows, 3);
    return 0;
}

struct accept {
    const struct invite *invite;
    const char *hash;
};

static int accept_body(struct db *db, void *context, struct error **err)
{
    const struct accept *accept = context;
    const struct credential *credential = &accept->invite->credential;
    uint64_t used;
    if (credential_row_lock(db, credential->user_id, credential->epoch, err) < 0 ||
        db_exec(db, &use_statement, DB_ARGS(db_text(accept->invite->id)), &used, err) < 0)
        return -1;
    if (!used)
        return error_set(err, ERR_INVALID_CREDENTIALS, "This invite was used already.");
    if (credential_row_set_password(db, credential->user_id, accept->hash, err) < 0)
        return -1;
    return login_row_end_all(db, credential->user_id, NULL, err);
}

int invite_accept(struct db *db, const struct invite *invite, const char *hash, struct error **err)
{
    struct accept accept = {invite, hash};
    return db_transaction(db, accept_body, &accept, err);
}
