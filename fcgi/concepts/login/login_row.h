/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The rows behind sign-ins; for this folder only. */
#pragma once

#include "db/db.h"
#include "login/login.h"

/* Read a key id and a hash from two columns, starting at column `first`. */
void secret_hash_read(const struct db_rows *rows, unsigned first, struct secret_hash *kept);

/* Find a row and its principal by its id, in one query. *found false: the row does not exist. */
int login_row_find(struct db *db, const char *id, bool *found, struct login *login,
                   struct secret_hash *kept, struct principal *principal, struct error **err);

int login_row_seen(struct db *db, const char *id, int64_t seen_at_ms, int64_t idle_at_ms,
                   struct error **err);

/* Insert the row of a user whose credentials still have this epoch. Errors:
 * ERR_INVALID_CREDENTIALS. */
int login_row_insert(struct db *db, const struct login *login, unsigned epoch,
                     const struct secret_hash *kept, struct error **err);

/* End all sign-ins of a user except except_id (NULL: all), inside a transaction. */
int login_row_end_all(struct db *db, const char *user_id, const char *except_id,
                      struct error **err);
