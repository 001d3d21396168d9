/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * POST /exec: a command as one request. The answer comes when the process has ended (process.h):
 * programs that it left in the background continue without it. A client that goes away, or a time
 * limit that is over, ends the program and its session; a pause of the sandbox does not.
 */
#pragma once

#include "agent/framework/request.h"

int exec_begin(struct request *request, struct rpc_error *error);
int exec_finish(struct request *request, struct rpc_error *error);
void exec_closed(struct request *request);
