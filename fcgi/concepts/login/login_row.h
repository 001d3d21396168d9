/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The rows behind sign-ins; for this folder only. */
#pragma once

#include "db/db.h"
#include "login/login.h"

/* A key id and a hash in two columns from first. */
void secret_hash_read(const struct db_rows *rows, unsigned first, struct secret_hash *kept);

/* The row of an id with the principal behind it, in one query. found is false when there is none.
 */
int login_row_find(struct db *db, const char *id, bool *found, struct login *login,
                   struct secret_hash *kept, struct principal *principal, struct error **err);

int login_row_seen(struct db *db, const char *id, int64_t seen_at_ms, int64_t idle_at_ms,
                   struct error **err);

/* Insert it for a user whose credential is still of that epoch. Errors: ERR_INVALID_CREDENTIALS. */
int login_row_insert(struct db *db, const struct login *login, unsigned epoch,
                     const struct secret_hash *kept, struct error **err);

/* Inside a transaction: end all of a user but except_id (NULL: all). */
int login_row_end_all(struct db *db, const char *user_id, const char *except_id,
                      struct error **err);
