/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * POST /internal/hook {"key", "wait_ms", "exec"}: run a hook, and come back for its end. The first
 * call with a key starts the command of "exec" (a body of POST /exec). Each call waits for its end
 * for wait_ms at most. The answer is 200 with {"exit_code"}, which is null if a signal or the time
 * limit ended the command. While the command runs, it is 202. A caller that goes away does not end
 * it. The agent knows one hook: a new key ends the command of the former one.
 */
#pragma once

#include "agent/framework/request.h"

int hook_finish(struct request *request, struct rpc_error *error);
void hook_closed(struct request *request);
