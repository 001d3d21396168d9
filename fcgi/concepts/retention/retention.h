/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rows of what has ended stay for a while, for whoever asks what it was: sandboxes that are
 * destroyed, operations that are over, checkpoints and volumes that are deleted, API keys that are
 * revoked. Usage is not among them: invoices are made from it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "db/db.h"

/* Rows of one kind that are removed at once. */
#define RETENTION_BATCH 500

/* Remove rows of what ended before ended_before_ms and was made before that, RETENTION_BATCH of
 * each kind at most. *more: there may be more of them. */
int retention_remove(struct db *db, int64_t ended_before_ms, bool *more, struct error **err);

extern const struct db_statement_list retention_statements;
