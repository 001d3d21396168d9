/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What no sandbox of a team has started from of late: a version or checkpoint whose agent did not
 * come, twice in a row, or a stopped sandbox. A further create or resume would hold a worker for
 * the whole wait, so it is refused for a while. The memory is shared by the workers of a machine
 * and kept per team, so that a disk which one team cannot use says nothing to another.
 */
#pragma once

#include "worker/worker.h"

#define FAILED_START_S 60 /* a source is not tried again that long */

/* source: the id of a version, a checkpoint or a stopped sandbox, in all of these. */

/* Refuse what has failed twice. Errors: ERR_AGENT_SILENT, with the time of the next try. */
int failed_start_check(struct worker *worker, const char *team_id, const char *source,
                       struct error **err);

/* The agent of a sandbox that was made from it did not come, or came. */
void failed_start_note(struct worker *worker, const char *team_id, const char *source);
void failed_start_forget(struct worker *worker, const char *team_id, const char *source);
