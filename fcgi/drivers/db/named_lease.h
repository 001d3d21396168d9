/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A lease with a name, for work that only one process of the deployment does at a time. A row of
 * `leases` belongs to its holder until the time in the row. Named locks of the server would end
 * with the connection, but each server of a group has its own.
 *
 * The times of this table are those of the database server (DB_NOW_MS): a process on a machine with
 * a wrong clock takes no lease of another one.
 */
#pragma once

#include "db/db.h"

#define NAMED_LEASE_MS   15000 /* a holder renews the lease well before */

#define NAMED_LEASE_SIZE 65

/* Take a lease for NAMED_LEASE_MS, unless another owner has it, and say in *ours whether the caller
 * has it now. Call this often: an own lease is renewed when a quarter of its time is over. Errors:
 * those of the database. */
int named_lease_take(struct db *db, const char *name, const char *owner, bool *ours,
                     struct error **err);

/* Release a lease, if this owner has it. */
int named_lease_release(struct db *db, const char *name, const char *owner, struct error **err);

/* Check whether any owner has a lease. */
int named_lease_is_held(struct db *db, const char *name, bool *held, struct error **err);
