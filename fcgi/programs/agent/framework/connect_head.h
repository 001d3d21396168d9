/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the head of a request says in the Connect protocol with JSON. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "agent/common/rpc_error.h"
#include "agent/framework/request.h"

#define RPC_TYPE_STREAM "application/connect+json"

/* Whether the path is that of a service (known method or not). */
bool rpc_is_service_path(const char *path);

/* Whether the client expects the answer as a stream; errors then travel in its last envelope. */
bool rpc_is_stream_request(const struct request *request);

/* Whether the media type is that of the protocol, for a call whose request is a stream or not, and
 * which coding the messages have: request->compressed. RPC_UNIMPLEMENTED: another than gzip. */
int rpc_check_type(struct request *request, bool streams, struct rpc_error *error);

/* Connect-Timeout-Ms; 0 when the client sets no limit. */
int rpc_timeout_ms(const struct request *request, int64_t *timeout_ms, struct rpc_error *error);
