/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Give restarted agents their secret and the environment of their sandbox, which they keep only in
 * memory. The init of a sandbox restarts an agent that was killed; the questions of agent_pulse.h
 * find it. The host's monitor reports guests that have rebooted.
 */
#pragma once

#include "sandbox/lifecycle.h"

struct agent_refresh;

/* Start without restarted agents. worker is borrowed. */
struct agent_refresh *agent_refresh_new(struct worker *worker);
void agent_refresh_free(struct agent_refresh *refresh);

/* Note that an instance or its agent has restarted. The agent has 30 s to answer. */
void agent_refresh_restarted(struct agent_refresh *refresh, const char *instance_name);

/* Refresh one restarted agent, for less than a second. Returns the milliseconds until the next call
 * is due. */
unsigned agent_refresh_work(struct agent_refresh *refresh);
