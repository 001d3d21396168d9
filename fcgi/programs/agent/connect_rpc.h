/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The Connect protocol with JSON: from an HTTP request to a typed call and back. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "agent/fault.h"
#include "agent/request.h"
#include "agent/users.h"

/* One row per method; exactly one of the two is set.
 * unary: sets *answer, or suspends the request and replies later.
 * stream: opens the response stream (stream_open()), or fails before that. */
struct rpc {
    int (*unary)(struct request *request, const json_t *message, json_t **answer,
                 struct fault *fault);
    int (*stream)(struct request *request, const json_t *message, struct fault *fault);
    void (*closed)(struct request *request); /* unary, optional: the request is over */
};

/* The handlers of every route with an rpc row. */
int rpc_begin(struct request *request, struct fault *fault);
int rpc_finish(struct request *request, struct fault *fault);
void rpc_closed(struct request *request);

/* The parts of them, for calls whose request is a stream: whether the media type is that of the
 * protocol; one message, a new reference or NULL; the answer, which is an empty message. */
int rpc_check_type(const struct request *request, bool streams, struct fault *fault);
json_t *rpc_parse(const char *text, size_t size, struct fault *fault);
int rpc_reply_client_stream(struct request *request);

#define RPC_TYPE_STREAM "application/connect+json"

/* Whether the path is that of a service (known method or not). */
bool rpc_is_service_path(const char *path);

/* Whether the client expects the answer as a stream; faults then travel in its last envelope. */
bool rpc_is_stream_request(const struct request *request);
int rpc_reply_stream_fault(struct request *request, const struct fault *fault);
void rpc_append_fault(struct buffer *body, const struct fault *fault);

/* The user that Basic authentication selects (its password means nothing), or the default one. */
int rpc_user(struct request *request, struct user *user, struct fault *fault);

/* Connect-Timeout-Ms; 0 when the client sets no limit. */
int rpc_timeout_ms(const struct request *request, int64_t *timeout_ms, struct fault *fault);
