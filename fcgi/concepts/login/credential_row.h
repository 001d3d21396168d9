/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The rows behind credentials; for this folder only. */
#pragma once

#include "login/credential.h"
#include "login/secret_text.h"

/* Inside a transaction: lock the user's row. Errors: ERR_INVALID_CREDENTIALS when the user is
 * disabled, or the epoch is another one. */
int credential_row_lock(struct db *db, const char *user_id, unsigned epoch, struct error **err);

/* Inside the transaction: the next epoch begins, with this password ("": none). */
int credential_row_set_password(struct db *db, const char *user_id, const char *hash,
                                struct error **err);

/* Note the time step of a code. False: it, or a later one, was taken already. */
int credential_row_take_step(struct db *db, const char *user_id, int64_t step, bool *taken,
                             struct error **err);

/* The recovery codes that are left; the caller frees the array. */
int credential_row_list_recovery(struct db *db, const char *user_id, struct secret_hash **list,
                                 unsigned *count, struct error **err);
int credential_row_take_recovery(struct db *db, const char *user_id, const struct secret_hash *code,
                                 bool *taken, struct error **err);

/* Inside a transaction: the second factor, which is on or waits for its first code. size 0: none.
 * All recovery codes go. */
int credential_row_set_totp(struct db *db, const char *user_id, const void *sealed, size_t size,
                            bool is_on, int64_t step, struct error **err);
int credential_row_add_recovery(struct db *db, const char *user_id, const struct secret_hash *code,
                                struct error **err);
