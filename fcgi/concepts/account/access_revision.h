/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The access revision counts the changes of access rights: revoked keys, disabled users, members
 * and their roles, plans of teams, the plans themselves. While it stays the same, rights that were
 * read earlier are still valid.
 *
 * One row holds it for the whole deployment, so each worker of each front node sees a change at
 * once.
 */
#pragma once

#include <stdint.h>

#include "db/db.h"

/* Read the revision. Read it before the rights that it vouches for. */
int access_revision_get(struct db *db, uint64_t *revision, struct error **err);

/* Increment the revision. Call it inside the transaction that changes a right, as the last
 * statement: all such changes lock this row until their commit. */
int access_revision_bump(struct db *db, struct error **err);
