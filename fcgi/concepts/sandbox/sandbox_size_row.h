/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What sandbox_size.c reads and writes of rows. */
#pragma once

#include "db/lease.h"
#include "sandbox/sandbox_size.h"

extern const struct lease_table sandbox_sizes;

/* Inside a transaction: take one that is due; id "": there is none. */
int size_row_take(struct db *db, const char *owner, uint64_t lease_s, char id[LEASE_KEY_SIZE],
                  unsigned *attempts, struct error **err);

/* Let go of it; it is due again in delay_ms. Not ours any more: success. */
int size_row_defer(struct db *db, const char *id, const char *owner, uint64_t delay_ms,
                   struct error **err);

/* Incus was told. Not ours any more: success, whoever has it tells the same. */
int size_row_told(struct db *db, const char *id, const char *owner, struct error **err);
