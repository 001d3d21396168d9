/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Delete the rows of objects that ended long ago: destroyed sandboxes, finished operations, deleted
 * checkpoints, volumes and template versions, revoked API keys and SSH keys. Until then clients can
 * still look them up. Rows of usage stay, because invoices are made from them.
 *
 * Where a team has many such rows, the oldest ones are deleted earlier, so that no team fills the
 * database.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "db/db.h"

/* Rows of one kind that one call deletes at most. */
#define RETENTION_BATCH 500

/* Ended rows of one kind that a team keeps: sandboxes, checkpoints, volumes, template versions. For
 * operations the bound is per sandbox. */
#define RETENTION_TEAM_MAX       10000
#define RETENTION_OPERATIONS_MAX 100

/* Rows of one kind that one call counts at most. */
#define RETENTION_WINDOW 20000

/* Delete rows that were created and have ended before ended_before_ms, and the oldest rows beyond
 * the bounds above. One call deletes at most RETENTION_BATCH rows of each kind; for the bounds, of
 * each kind and team. *more: such rows may be left. */
int retention_remove(struct db *db, int64_t ended_before_ms, bool *more, struct error **err);
