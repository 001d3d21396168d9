/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * POST /exec: a command as one request. The answer comes when the process has ended (process.h):
 * programs that it left in the background continue without it. A client that goes away, or a time
 * limit that is over, ends the program and its session. A pause of the sandbox does not, and in a
 * copy of its memory the program continues without its client.
 */
#pragma once

#include "agent/framework/request.h"

struct exec_call;
struct process;

int exec_finish(struct request *request, struct rpc_error *error);
void exec_closed(struct request *request);

/* Start the process of a call, as the user of the call or of the request. A hook starts also while
 * clients have as many calls as they can. */
int exec_launch(struct request *request, const struct exec_call *call, struct process **process,
                struct rpc_error *error);
