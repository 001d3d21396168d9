/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Pauses of idle sandboxes (lifecycle.idle_timeout), from the answers of their agents. */
#pragma once

#include "sandbox/sandbox_row.h"
#include "worker/worker.h"

/* Return whether a sandbox was idle for its idle_timeout, from an answer to the question with
 * idle_s of agent_many_ask().
 *
 * watched_ms: for how long this run of the sandbox has been watched. It was not idle for longer,
 * whatever an agent says whose memory comes from an earlier run. After pauses that failed it must
 * be idle for longer, up to 32 times as long. */
bool idle_is_over(const struct sandbox_ready *ready, const char *answer, int64_t watched_ms);

/* Begin the pause of an idle sandbox in one transaction; sandbox_recover_next() does the rest. Does
 * nothing for a run that has ended, or when a hold or another idle_timeout was set meanwhile. */
int sandbox_pause_idle(struct worker *worker, const struct sandbox_ready *ready,
                       struct error **err);
