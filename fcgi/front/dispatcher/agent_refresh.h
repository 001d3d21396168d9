/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Agents that have started anew know neither their secret nor the environment of their sandbox
 * until someone tells them. The init of a sandbox starts an agent again that was killed, which the
 * questions of agent_pulse.h find; a guest that has rebooted is named by the monitor of its host.
 */
#pragma once

#include "sandbox/lifecycle.h"

struct agent_refresh;

struct agent_refresh *agent_refresh_new(struct worker *worker);
void agent_refresh_free(struct agent_refresh *refresh);

/* The instance or its agent has started anew: the agent is waited for, for a while. */
void agent_refresh_restarted(struct agent_refresh *refresh, const char *instance_name);

/* Talk to one of those that have started anew, for less than a second. Returns after how many
 * milliseconds there is more to do. */
unsigned agent_refresh_work(struct agent_refresh *refresh);
