/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "agent/framework/request.h"
#include "agent/process/process_log.h"

/* Answer with the entries of a log, by the query of GET /internal/logs. */
int process_logs_reply(struct request *request, struct process_log *log, struct rpc_error *error);

/* Handle GET /internal/logs?after&limit&order&pid&from_ms&to_ms: the entries of the log
 * (process_log.h), terminals left out, in the order asked for, behind the one at position
 * `after`. */
int logs_finish(struct request *request, struct rpc_error *error);
