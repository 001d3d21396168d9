/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The rows behind passkeys; for this folder only. */
#pragma once

#include "login/passkey.h"

/* Find a passkey by its credential id. *found false: no passkey has this id. */
int passkey_row_find(struct db *db, const void *id, size_t size, bool *found,
                     struct passkey *passkey, char user_id[ID_SIZE], struct error **err);

/* Record a sign-in by a challenge of this time. *used false: the passkey has signed this challenge
 * or a later one, or its counter did not grow. */
int passkey_row_use(struct db *db, const char *id, int64_t challenge_at_ms, uint32_t sign_count,
                    bool *used, struct error **err);

/* Insert a passkey of a user whose credentials still have this epoch, and start the next one.
 * Errors: ERR_INVALID_CREDENTIALS, ERR_INVALID_REQUEST (too many, or known already). */
int passkey_row_insert(struct db *db, const char *user_id, unsigned epoch,
                       const struct passkey *passkey, struct error **err);

/* Rename a passkey. *found false: the user has none with this id. */
int passkey_row_rename(struct db *db, const char *user_id, const char *id, const char *name,
                       bool *found, struct error **err);

/* Delete a passkey of a user whose credentials still have this epoch, and start the next one.
 * Errors: ERR_INVALID_CREDENTIALS, ERR_NOT_FOUND. */
int passkey_row_delete(struct db *db, const char *user_id, unsigned epoch, const char *id,
                       struct error **err);
