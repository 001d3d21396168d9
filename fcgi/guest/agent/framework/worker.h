/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Calls that may take long (walking or removing a large tree) run in a forked copy of the agent, so
 * that the loop continues. The copy keeps nothing open but a pipe, through which its answer comes;
 * it is killed when the client goes away.
 */
#pragma once

#include "agent/common/rpc_error.h"
#include "agent/framework/request.h"
#include "base/buffer.h"

#define WORKERS_MAX 16

/* The largest answer of a worker. */
#define WORKER_ANSWER_MAX (64 * 1024 * 1024)

/* Compute in the copy: append the answer as rpc_encode() would, or fail. */
typedef int worker_function(const void *context, struct buffer *answer, struct rpc_error *error);

/* Suspend the request, and answer it with 200 and the result of work(), or with its error. context
 * is borrowed until this call returns: the copy has its own. Meanwhile request->state belongs to
 * the worker; call worker_closed() at the request's end. Errors: RPC_RESOURCE_EXHAUSTED
 * (WORKERS_MAX calls are running), and those of rpc_error_set_errno(). */
int worker_run(struct request *request, worker_function *work, const void *context,
               struct rpc_error *error);
void worker_closed(struct request *request);
