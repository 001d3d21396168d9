/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Ask the agent of each running sandbox every 15 seconds whether it works. The kernel of a host
 * accepts connections for a stopped agent or a frozen instance, so nothing else shows the failure.
 *
 * An agent is silent when it has missed at least two questions in a row, over 30 s or more. That is
 * known at most 60 s after its last answer. The dispatcher then sets silent_since in the sandbox's
 * row, creates an event and ends the calls that wait for the agent. Another event follows when the
 * agent answers again. An agent that has restarted does not know its secret: agent_refresh.h gets
 * it.
 *
 * AGENT_PULSE_MAX questions are open at once, AGENT_PULSE_TENANT for one team, and as many for one
 * user. Silent sandboxes of one team therefore do not delay those of other teams. One dispatcher of
 * a deployment asks (a lease).
 */
#pragma once

#include "dispatcher/agent_refresh.h"

#define AGENT_PULSE_MAX    128
#define AGENT_PULSE_TENANT 16

struct agent_pulse;

/* Start without questions. worker and refresh are borrowed. */
struct agent_pulse *agent_pulse_new(struct worker *worker, struct agent_refresh *refresh);
void agent_pulse_free(struct agent_pulse *pulse);

/* Ask the agents that are due and read the answers that have arrived. Waits only for the
 * database. */
void agent_pulse_work(struct agent_pulse *pulse);

/* Wait until an answer arrives, a question is due, or fd is readable; wait_ms at most. */
void agent_pulse_wait(struct agent_pulse *pulse, int fd, unsigned wait_ms);
