/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Asks the agent of each running sandbox every 15 seconds whether it is there. The kernel of a
 * host takes connections for an agent that is stopped, or whose instance is frozen, so nothing else
 * shows that it does not work. After 30 s without an answer, 60 s at most after the
 * last answer, the row of the sandbox and an event say so, and the calls that wait for it are
 * ended; another event says that it answers again. An agent that has restarted knows no secret,
 * and is handed to agent_refresh.h.
 *
 * Questions wait side by side: AGENT_PULSE_MAX of them, AGENT_PULSE_TEAM for one team, so that the
 * silent sandboxes of a team keep no other team's from their turn. One dispatcher of a deployment
 * asks (a lease).
 */
#pragma once

#include "dispatcher/agent_refresh.h"

#define AGENT_PULSE_MAX  128
#define AGENT_PULSE_TEAM 16

struct agent_pulse;

struct agent_pulse *agent_pulse_new(struct worker *worker, struct agent_refresh *refresh);
void agent_pulse_free(struct agent_pulse *pulse);

/* Ask those whose turn has come, and take the answers that are there. Waits for the database alone.
 */
void agent_pulse_work(struct agent_pulse *pulse);

/* Wait until an answer comes, a turn begins, or fd can be read; at most wait_ms. */
void agent_pulse_wait(struct agent_pulse *pulse, int fd, unsigned wait_ms);
