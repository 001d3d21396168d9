/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A guard: the process that the sandbox's init starts, and whose child the agent is. When the agent
 * is killed (by root in the sandbox, by the kernel for want of memory, by a error of its own) the
 * guard has a new one at once, and the new one knows what POST /init had told the old one. It is
 * kept in memory that both share: nothing is on disk, and an end of the guard forgets it.
 */
#pragma once

#include <stdbool.h>

#include "base/error.h"

struct agent;

/* Stay behind as the guard, and return as its agent, once for each. The guard ends with the exit
 * status of an agent that ends by itself, and with 1 when one was killed within a second of its
 * start: then its init is to wait and begin anew. An agent ends with its guard. */
int guard_begin(struct error **err);

/* Keep what the agent was told. Without a guard nothing is kept. */
void guard_keep(const struct agent *agent);

/* Take up what an agent before this one was told. False: there was none, or it had not been told.
 */
bool guard_recall(struct agent *agent);
