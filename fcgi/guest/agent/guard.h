/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A guard: the process that the sandbox's init starts, and whose child the agent is. When the agent
 * is killed (by root in the sandbox, by the kernel for want of memory, by an error of its own) the
 * guard has a new one at once, and the new one has the old one's state from POST /init. It is kept
 * in memory that both share: nothing is on disk, and an end of the guard forgets it.
 */
#pragma once

#include <stdbool.h>

#include "base/error.h"

struct agent;

/* Stay behind as the guard, and return as its agent, once for each. The guard ends with the exit
 * status of an agent that ends by itself, and with 1 when one was killed within a second of its
 * start: then its init waits and starts it again. An agent ends with its guard. */
int guard_begin(struct error **err);

/* Keep the agent's state. Without a guard this does nothing. */
void guard_keep(const struct agent *agent);

/* Take over the state of the previous agent. False: there was no previous agent, or it had no
 * state.
 */
bool guard_recall(struct agent *agent);
