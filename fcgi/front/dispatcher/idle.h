/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Pauses of idle sandboxes (lifecycle.idle_timeout), from the answers of their agents. */
#pragma once

#include "sandbox/sandbox_row.h"
#include "worker/worker.h"

/* Return whether a sandbox was idle for its idle_timeout, from an answer to the question with
 * idle_s of agent_many_ask().
 *
 * watched_ms: the time since the first list with this run of the sandbox. An agent that was
 * restored with its memory may answer with the idle time of an earlier run. So a longer idle time
 * does not count. After failed pauses the sandbox must be idle for longer, up to 32 times as long.
 */
bool idle_is_over(const struct sandbox_ready *ready, const char *answer, int64_t watched_ms);

/* Return whether the row still has the run and the choices with which a sandbox was found idle;
 * they are up to some seconds old. While Incus of its host does not answer, a sandbox stays awake:
 * its pause could not end, and requests would wait for it. */
bool idle_is_current(const struct sandbox_ready *ready, const struct sandbox *sandbox);

/* Begin the pause of an idle sandbox in one transaction; sandbox_recover_next() does the rest. Does
 * nothing unless idle_is_current(). */
int sandbox_pause_idle(struct worker *worker, const struct sandbox_ready *ready,
                       struct error **err);
