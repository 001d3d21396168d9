/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Read the head of a request in the Connect protocol and in gRPC-web: format, framing and
 * compression of messages. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "agent/common/rpc_error.h"
#include "agent/framework/request.h"

enum rpc_protocol {
    RPC_CONNECT,        /* one message is the body, errors are HTTP statuses */
    RPC_CONNECT_STREAM, /* envelopes, the last one says how it ended */
    RPC_GRPC_WEB,       /* frames, and one of trailers; calls of one message too */
};

struct rpc_type {
    const char *media_type;
    enum rpc_protocol protocol;
    bool binary; /* messages are protobuf, not JSON */
    bool text;   /* the whole is in base64 */
};

/* The initial value for every request: plain JSON. */
extern const struct rpc_type *const rpc_type_json;

/* Return whether the path is that of a service (known method or not). */
bool rpc_is_service_path(const char *path);

/* Return the form of a request at such a path, by its media type. NULL: an unknown type. */
const struct rpc_type *rpc_type_of(const struct request *request);

/* Check the media type of a call, and set request->type, compressed and packs (the coding of the
 * messages). streams: its request or answer is a stream. Errors: RPC_UNSUPPORTED_MEDIA_TYPE,
 * RPC_UNIMPLEMENTED (another coding than gzip). */
int rpc_check_type(struct request *request, bool streams, struct rpc_error *error);

/* Do the same for a request that can only be JSON. Errors: RPC_UNSUPPORTED_MEDIA_TYPE,
 * RPC_UNSUPPORTED_CODING. */
int rpc_check_json(struct request *request, struct rpc_error *error);

/* Return the header that says the coding of messages in an answer. */
const char *rpc_coding_header(const struct rpc_type *type);

/* Read the header Connect-Timeout-Ms or Grpc-Timeout. *timeout_ms is 0 without it. Errors:
 * RPC_INVALID_ARGUMENT. */
int rpc_timeout_ms(const struct request *request, int64_t *timeout_ms, struct rpc_error *error);
