/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Services in the Connect protocol and gRPC-web: from an HTTP request to a typed call and back. */
#pragma once

#include <jansson.h>

#include "agent/common/message.h"
#include "agent/common/rpc_error.h"
#include "agent/common/users.h"
#include "agent/framework/connect_head.h"
#include "agent/framework/envelope.h"
#include "agent/framework/request.h"

/* One row per method. Messages are JSON to its handlers; of unary and stream one is set, but where
 * the route has handlers of its own.
 * unary: sets *answer, or suspends the request and replies later.
 * stream: opens the response stream (stream_open()), or fails before that. */
struct rpc {
    int (*unary)(struct request *request, const json_t *message, json_t **answer,
                 struct rpc_error *error);
    int (*stream)(struct request *request, const json_t *message, struct rpc_error *error);
    void (*closed)(struct request *request); /* unary, optional: the request is over */
    const struct message *request, *answer;  /* their binary forms */
};

/* Begin a call, for every route with an rpc row. */
int rpc_begin(struct request *request, struct rpc_error *error);
int rpc_finish(struct request *request, struct rpc_error *error);
void rpc_closed(struct request *request);

/* Read the body of a request as one message, or a message of a stream. Each is a new reference or
 * NULL. The media type is checked before (connect_head.h). A decompressed message has at most
 * AGENT_BODY_MAX bytes. */
json_t *rpc_parse_body(const struct request *request, struct rpc_error *error);
json_t *rpc_parse_envelope(const struct request *request, const struct envelope *envelope,
                           struct rpc_error *error);

/* Find the user that Basic authentication selects (its password means nothing), or the default
 * one. */
int rpc_user(struct request *request, struct user *user, struct rpc_error *error);
