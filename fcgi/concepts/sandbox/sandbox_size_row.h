/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The rows for sandbox_size.c. */
#pragma once

#include "db/lease.h"
#include "sandbox/sandbox_size.h"

extern const struct lease_table sandbox_sizes;

/* Inside a transaction: take one record that is due. id is "" when no record is. */
int size_row_take(struct db *db, const char *owner, uint64_t lease_s, char id[LEASE_KEY_SIZE],
                  unsigned *attempts, struct error **err);

/* Release the record; it is due again in delay_ms. Success also when it is not ours any more. */
int size_row_defer(struct db *db, const char *id, const char *owner, uint64_t delay_ms,
                   struct error **err);

/* Delete the record after Incus was updated. Success also when it is not ours any more: the new
 * owner makes the same update. */
int size_row_told(struct db *db, const char *id, const char *owner, struct error **err);
