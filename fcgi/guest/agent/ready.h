/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The ready command of the template. A sandbox that starts from its disk answers its first POST
 * /init when this command has succeeded, so that the server of the start command listens when the
 * create is answered. After READY_WAIT_MS, or when the start command has failed, it answers all the
 * same.
 */
#pragma once

#include <stdbool.h>

#include "agent/framework/request.h"

#define READY_WAIT_MS 8000 /* less than AGENT_START_WAIT_MS of the control plane */

/* Begin to repeat the command. The services have started. */
void ready_begin(struct agent *agent, const char *command);

/* Suspend a request while the command is repeated, and reply 204 afterwards. Returns false, and
 * leaves the request alone, when there is nothing to wait for. An earlier request that waits gets
 * its reply. */
bool ready_await(struct request *request);

/* Forget a request that ends. */
void ready_closed(struct request *request);
