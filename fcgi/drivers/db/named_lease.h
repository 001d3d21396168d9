/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A lease with a name, for work that only one process of the deployment does at a time. A row of
 * `leases` belongs to its holder until the time in the row. Named locks of the server would end
 * with the connection, but each server of a group has its own.
 */
#pragma once

#include "db/db.h"

#define NAMED_LEASE_MS   15000 /* a holder asks again well before */

#define NAMED_LEASE_SIZE 65

/* Take it for NAMED_LEASE_MS from now, unless another process has it. To be called often: it is
 * written when a quarter of its time is over. */
int named_lease_take(struct db *db, const char *name, const char *owner, bool *ours,
                     struct error **err);

/* Release it, if it is ours. */
int named_lease_release(struct db *db, const char *name, const char *owner, struct error **err);

/* Check whether a process holds it, by the clock of the server: the clock of another machine may be
 * wrong. */
int named_lease_is_held(struct db *db, const char *name, bool *held, struct error **err);
