/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rows of what has ended stay for a while, for whoever asks what it was: sandboxes that are
 * destroyed, operations that are over, checkpoints, volumes and template versions that are deleted,
 * API keys and SSH keys that are revoked. Usage is not among them: invoices are made from it.
 *
 * The oldest rows go early where a team has many, so that no team fills the database.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "db/db.h"

/* Rows of one kind that are removed at once. */
#define RETENTION_BATCH 500

/* Ended rows of one kind that are kept of a team: sandboxes, checkpoints, volumes, template
 * versions. Operations: of a sandbox. */
#define RETENTION_TEAM_MAX       10000
#define RETENTION_OPERATIONS_MAX 100

/* Remove rows of what ended before ended_before_ms and was made before that, and rows beyond the
 * bounds, RETENTION_BATCH of each kind (of a team) at most. *more: such rows may be left. */
int retention_remove(struct db *db, int64_t ended_before_ms, bool *more, struct error **err);
