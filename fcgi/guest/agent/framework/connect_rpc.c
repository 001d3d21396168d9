/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/framework/connect_rpc.h"

#include <sodium.h>
#include <string.h>
#include <strings.h>

#include "agent/agent.h"
#include "agent/common/gunzip.h"
#include "agent/common/proto.h"
#include "agent/framework/envelope.h"
#include "agent/framework/rpc_answer.h"
#include "agent/framework/stream.h"

int rpc_begin(struct request *request, struct rpc_error *error)
{
    return rpc_check_type(request, request->route->rpc->stream, error);
}

static json_t *parse_message(const struct request *request, const char *data, size_t size,
                             struct rpc_error *error)
{
    if (request->type->binary)
        return message_read(request->route->rpc->request, data, size, error);
    return proto_read(data, size, error);
}

static json_t *parse(const struct request *request, const char *data, size_t size, bool compressed,
                     struct rpc_error *error)
{
    buffer_auto plain = BUFFER_INIT(AGENT_BODY_MAX);
    if (!compressed || !size)
        return parse_message(request, data, size, error);
    if (gunzip_whole(data, size, &plain, error) < 0)
        return NULL;
    return parse_message(request, plain.data, plain.size, error);
}

json_t *rpc_parse_body(const struct request *request, struct rpc_error *error)
{
    return parse(request, request->body.data, request->body.size, request->compressed, error);
}

json_t *rpc_parse_envelope(const struct request *request, const struct envelope *envelope,
                           struct rpc_error *error)
{
    if (!envelope->compressed || request->compressed)
        return parse(request, envelope->message, envelope->size, envelope->compressed, error);
    rpc_error_set(error, RPC_INVALID_ARGUMENT,
                  "a message is compressed, but the request has no header %s",
                  rpc_coding_header(request->type));
    return NULL;
}

/* Base64 in one piece or several, each with its padding. */
static int decode_text(struct buffer *body, struct rpc_error *error)
{
    const char *at = body->data, *end = at + body->size;
    size_t used = 0;
    while (at < end) {
        const char *begin = at;
        size_t size;
        /* It is never longer than its source. */
        int rc =
            sodium_base642bin((unsigned char *)body->data + used, (size_t)(end - at), at,
                              (size_t)(end - at), NULL, &size, &at, sodium_base64_VARIANT_ORIGINAL);
        if (rc != 0 || at == begin)
            return rpc_error_set(error, RPC_INVALID_ARGUMENT, "the body is not base64");
        used += size;
    }
    body->size = used;
    return 0;
}

static json_t *parse_request(struct request *request, struct rpc_error *error)
{
    struct envelope envelope;
    if (request->type->protocol == RPC_CONNECT)
        return rpc_parse_body(request, error);
    if (request->type->text && decode_text(&request->body, error) < 0)
        return NULL;
    if (envelope_parse(request->body.data, request->body.size, &envelope, error) < 0)
        return NULL;
    return rpc_parse_envelope(request, &envelope, error);
}

int rpc_finish(struct request *request, struct rpc_error *error)
{
    const struct rpc *rpc = request->route->rpc;
    json_auto_t *message = parse_request(request, error);
    if (!message)
        return -1;
    buffer_deinit(&request->body);
    if (rpc->stream)
        return rpc->stream(request, message, error);
    json_t *answer = NULL;
    if (rpc->unary(request, message, &answer, error) < 0) {
        json_decref(answer);
        return -1;
    }
    return answer ? rpc_reply(request, answer) : 0;
}

void rpc_closed(struct request *request)
{
    const struct rpc *rpc = request->route->rpc;
    if (rpc->stream && request->state)
        stream_closed(request->state);
    if (rpc->closed)
        rpc->closed(request);
}

int rpc_user(struct request *request, struct user *user, struct rpc_error *error)
{
    const char *authorization = httpd_header(&request->http, "Authorization");
    if (!authorization || strncasecmp(authorization, "Basic ", 6) != 0)
        return users_find(request->agent->default_user, user, error);
    struct MHD_BasicAuthInfo *basic =
        MHD_basic_auth_get_username_password3(request->http.connection);
    if (!basic)
        return rpc_error_set(error, RPC_UNAUTHENTICATED, "the Authorization header is malformed");
    const char *name = basic->username_len ? basic->username : request->agent->default_user;
    int rc = users_find(name, user, error);
    MHD_free(basic);
    return rc;
}
