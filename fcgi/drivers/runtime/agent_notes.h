/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Share notes about agents of sandboxes between a machine's workers, in shared memory. They list
 * silent agents, agents that a worker waits for, and agents that have just answered. The gate has a
 * table by sandbox; creates have one by source (sandbox/failed_starts.h). A table has a fixed size.
 * Sandboxes with the same place in it replace each other, which costs one more request. A wrong
 * note ends after the times below.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "runtime/agent_client.h"

struct agent_notes;

/* Open the named table in dir, shared with all processes that open it there. silence_s: how long a
 * silent agent is not asked again. Errors: ERR_CONFIG. */
int agent_notes_open(const char *dir, const char *name, uint64_t silence_s,
                     struct agent_notes **notes, struct error **err);
void agent_notes_close(struct agent_notes *notes);

/* sandbox: pool_tenant() of its id, in all of these. */

/* Note that an agent did not answer within the wait. */
void agent_notes_silent(struct agent_notes *notes, uint64_t sandbox);
bool agent_notes_is_silent(const struct agent_notes *notes, uint64_t sandbox);

/* Note that an agent was too slow for the gate. Another worker waits for it, at most wait_ms. */
void agent_notes_slow(struct agent_notes *notes, uint64_t sandbox, unsigned wait_ms);
bool agent_notes_is_slow(const struct agent_notes *notes, uint64_t sandbox);

/* Note that an agent answered, and delete the other notes about it. */
void agent_notes_answered(struct agent_notes *notes, uint64_t sandbox);

/* Return whether an agent answered within the last two seconds, and has not been silent since. */
bool agent_notes_is_fresh(const struct agent_notes *notes, uint64_t sandbox);
