/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Clean up objects beyond the limits of a team's plan, and sandboxes lost with their host:
 *
 * - sandboxes that are stopped for longer than stopped_days,
 * - the sandboxes stopped first, when a team has more than stopped_sandboxes,
 * - sandboxes of a lost host (sandbox/sandbox_lost.c sets their warning),
 * - checkpoints older than checkpoint_days.
 *
 * The record of each one shows the time of its deletion for cleanup_warning_hours before. A resume,
 * another plan or other deletions can take the warning back.
 */
#pragma once

#include "sandbox/lifecycle.h"

/* Warn, take back warnings that no longer apply, and start the deletions whose warning time is
 * over. The dispatcher's operations do the deletion itself. One call does a bounded amount of
 * work. */
int cleanup_sweep(struct worker *worker, struct error **err);
