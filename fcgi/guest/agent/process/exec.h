/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * POST /exec: a command as one request. The answer comes when the program has exited: what it has
 * written by then belongs to it, what it left running in the background goes on without. A client
 * that goes away, or a time limit that is over, ends the program and its process group; a pause of
 * the sandbox does not.
 */
#pragma once

#include "agent/framework/request.h"

int exec_begin(struct request *request, struct rpc_error *error);
int exec_finish(struct request *request, struct rpc_error *error);
void exec_closed(struct request *request);
