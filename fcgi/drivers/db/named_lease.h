/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What one process of the whole deployment does at a time, by name: a row of `leases` that is its
 * holder's until a time that stands in it. Named locks of the server would end with the connection,
 * but each server of a group has its own.
 */
#pragma once

#include "db/db.h"

#define NAMED_LEASE_MS   15000 /* a holder asks again well before */

#define NAMED_LEASE_SIZE 65

/* Have it for NAMED_LEASE_MS from now, unless somebody else does. To be called often: it is written
 * when a quarter of its time is over. */
int named_lease_take(struct db *db, const char *name, const char *owner, bool *ours,
                     struct error **err);

/* Let go of it, if it is ours. */
int named_lease_release(struct db *db, const char *name, const char *owner, struct error **err);

/* Whether anybody has it, by the clock of the server: who only looks may have a wrong one. */
int named_lease_is_held(struct db *db, const char *name, bool *held, struct error **err);

extern const struct db_statement_list named_lease_statements;
