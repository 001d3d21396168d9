/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The rows behind credentials; for this folder only. */
#pragma once

#include "login/credential.h"
#include "login/secret_text.h"

/* Lock the user's row inside a transaction. Errors: ERR_INVALID_CREDENTIALS when the user is
 * disabled, or has another epoch. */
int credential_row_lock(struct db *db, const char *user_id, unsigned epoch, struct error **err);

/* Set the password ("": none) and start the next epoch, inside the transaction. */
int credential_row_set_password(struct db *db, const char *user_id, const char *hash,
                                struct error **err);

/* Start the next epoch, inside the transaction. */
int credential_row_next_epoch(struct db *db, const char *user_id, struct error **err);

/* Store the time step of a code. *taken false: this step, or a later one, was used already. */
int credential_row_take_step(struct db *db, const char *user_id, int64_t step, bool *taken,
                             struct error **err);

/* List the unused recovery codes; the caller frees the array. */
int credential_row_list_recovery(struct db *db, const char *user_id, struct secret_hash **list,
                                 unsigned *count, struct error **err);
int credential_row_take_recovery(struct db *db, const char *user_id, const struct secret_hash *code,
                                 bool *taken, struct error **err);

/* Set the secret of the second factor inside a transaction: it is on, or waits for its first code.
 * size 0: no secret. Deletes all recovery codes. */
int credential_row_set_totp(struct db *db, const char *user_id, const void *sealed, size_t size,
                            bool is_on, int64_t step, struct error **err);
int credential_row_add_recovery(struct db *db, const char *user_id, const struct secret_hash *code,
                                struct error **err);
