/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Clean-up of what a team's plan does not keep: sandboxes that are stopped for longer than its
 * stopped_days, those that were stopped first when there are more than its stopped_sandboxes, and
 * checkpoints older than its checkpoint_days. Each one carries the time of its removal in its
 * record for cleanup_warning_hours before that; a resume, another plan, or room made by other means
 * takes the warning back.
 */
#pragma once

#include "sandbox/lifecycle.h"

/* Warn of what should go, take back warnings that no longer hold, begin to remove what was warned
 * of long enough; the dispatcher does the removal itself. A bounded piece of work each time. */
int cleanup_sweep(struct worker *worker, struct error **err);
