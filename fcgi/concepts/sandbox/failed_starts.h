/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Remember the sources from which sandboxes of a team do not start. A source is a version or
 * checkpoint whose agent did not answer twice in a row, or a paused sandbox. Another create or
 * resume would hold a worker for the whole wait, so it is refused for a while.
 *
 * The workers of a machine share this memory. It is kept per team: a source that fails for one team
 * is still tried for another.
 */
#pragma once

#include "worker/worker.h"

#define FAILED_START_S 60 /* how long a source is not tried again */

/* In all three functions, source is the id of a version, a checkpoint or a paused sandbox. */

/* Refuse a source that has failed twice. Errors: ERR_AGENT_SILENT with retry_after_s. */
int failed_start_check(struct worker *worker, const char *team_id, const char *source,
                       struct error **err);

/* Record that the agent of a sandbox from this source did not answer, or that it did. */
void failed_start_note(struct worker *worker, const char *team_id, const char *source);
void failed_start_forget(struct worker *worker, const char *team_id, const char *source);
