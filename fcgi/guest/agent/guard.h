/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A guard: the process that the sandbox's init starts, and whose child the agent is. Root in the
 * sandbox, the kernel (out of memory) or an error of the agent can kill it. The guard then starts a
 * new agent at once, with the previous one's state from POST /init. It is kept in memory that both
 * share: nothing is on disk, and an end of the guard forgets it.
 */
#pragma once

#include <stdbool.h>

#include "base/error.h"

struct agent;

/* Stay behind as the guard, and return as its agent, once for each. The guard ends with the exit
 * status of an agent that ends by itself. It ends with 1 if an agent was killed within a second of
 * its start. Then its init waits, and starts it again. An agent ends with its guard. */
int guard_begin(struct error **err);

/* Keep the agent's state. Without a guard this does nothing. */
void guard_keep(const struct agent *agent);

/* Take over the state of the previous agent. False: there was no previous agent, or it had no
 * state.
 */
bool guard_recall(struct agent *agent);
