/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Answers of services, written as the request is (request->type). */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "agent/common/rpc_error.h"
#include "agent/framework/connect_head.h"
#include "agent/framework/request.h"
#include "base/buffer.h"

/* Append the message that a JSON value says. */
void rpc_encode(const struct request *request, const json_t *message, struct buffer *out);

/* Append a message as one of several, compressed where that is wanted and pays. */
void rpc_frame(const struct request *request, const char *message, size_t size, struct buffer *out);

/* Append the end of a stream of messages: with an error, or without (NULL). */
void rpc_frame_end(const struct rpc_type *type, const struct rpc_error *error, struct buffer *out);

/* The body of an answer of one message. */
struct rpc_body {
    struct buffer bytes;
    bool packed; /* the whole body, as HTTP sends it */
};

/* Make it of the encoded message, whose bytes are taken over. */
void rpc_body_make(const struct request *request, struct buffer *message, struct rpc_body *body);

/* Answer with it; its bytes are taken over. */
int rpc_body_reply(struct request *request, struct rpc_body *body);

/* Answer with one message. The JSON value's reference is taken over. */
int rpc_reply(struct request *request, json_t *answer);
