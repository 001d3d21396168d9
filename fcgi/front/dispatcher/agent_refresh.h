/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Agents that have started anew know neither their secret nor the environment of their sandbox
 * until someone tells them. The init of a sandbox starts an agent again that was killed, which a
 * round over all sandboxes finds; a guest that has rebooted is named by the monitor of its host.
 */
#pragma once

#include "sandbox/lifecycle.h"

struct agent_refresh;

struct agent_refresh *agent_refresh_new(struct worker *worker);
void agent_refresh_free(struct agent_refresh *refresh);

/* The instance has started anew: its agent is waited for, for a while. */
void agent_refresh_restarted(struct agent_refresh *refresh, const char *instance_name);

/* Begin a round over the agents of all sandboxes that are ready. */
int agent_refresh_begin_round(struct agent_refresh *refresh, struct error **err);

/* Talk to those that have rebooted, and to one more of the round; each is waited for some seconds
 * at most. Returns after how many milliseconds there is more to do. */
unsigned agent_refresh_work(struct agent_refresh *refresh);
