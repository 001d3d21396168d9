/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Agents that have started anew know neither their secret nor the environment of their sandbox
 * until someone tells them. The init of a sandbox starts an agent again that was killed, which a
 * round over all sandboxes finds; a guest that has rebooted is named by the monitor of its host.
 */
#pragma once

#include "sandbox/lifecycle.h"

struct agent_tender;

struct agent_tender *agent_tender_new(struct worker *worker);
void agent_tender_free(struct agent_tender *tender);

/* The instance has started anew: its agent is waited for, for a while. */
void agent_tender_restarted(struct agent_tender *tender, const char *instance_name);

/* Begin a round over the agents of all sandboxes that are ready. */
int agent_tender_begin_round(struct agent_tender *tender, struct error **err);

/* Talk to those that have rebooted, and to one more of the round; each is waited for some seconds
 * at most. Returns after how many milliseconds there is more to do. */
unsigned agent_tender_work(struct agent_tender *tender);
