/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/connect_rpc.h"

#include <string.h>
#include <strings.h>

#include "agent/agent.h"
#include "agent/envelope.h"
#include "agent/stream.h"
#include "base/mem.h"
#include "base/str.h"

#define TYPE_UNARY     "application/json"

#define TIMEOUT_MAX_MS (1000LL * 3600 * 24 * 365)

bool rpc_is_service_path(const char *path)
{
    return str_starts_with(path, "/process.Process/") ||
           str_starts_with(path, "/filesystem.Filesystem/");
}

bool rpc_is_stream_request(const struct request *request)
{
    return rpc_is_service_path(request->http.path) &&
           httpd_content_is(&request->http, RPC_TYPE_STREAM);
}

static bool is_encoded(const struct request *request, const char *header)
{
    const char *encoding = httpd_header(&request->http, header);
    return encoding && *encoding && strcasecmp(encoding, "identity") != 0;
}

int rpc_check_type(const struct request *request, bool streams, struct fault *fault)
{
    if (!httpd_content_is(&request->http, streams ? RPC_TYPE_STREAM : TYPE_UNARY))
        return fault_set(fault, FAULT_UNSUPPORTED_MEDIA_TYPE, "the content type must be %s",
                         streams ? RPC_TYPE_STREAM : TYPE_UNARY);
    if (is_encoded(request, streams ? "Connect-Content-Encoding" : "Content-Encoding"))
        return fault_set(fault, FAULT_UNIMPLEMENTED, "compressed messages are not supported");
    return 0;
}

int rpc_begin(struct request *request, struct fault *fault)
{
    return rpc_check_type(request, request->route->rpc->stream, fault);
}

json_t *rpc_parse(const char *text, size_t size, struct fault *fault)
{
    if (!size)
        return json_object();
    json_error_t where;
    json_t *message = json_loadb(text, size, 0, &where);
    if (!message && json_error_code(&where) == json_error_null_character)
        fault_set(fault, FAULT_INVALID_ARGUMENT, "a text in the message contains a NUL character");
    else if (!message)
        fault_set(fault, FAULT_INVALID_ARGUMENT, "the message is not valid JSON: %s (byte %d)",
                  where.text, where.position);
    else if (!json_is_object(message)) {
        json_decref(message);
        message = NULL;
        fault_set(fault, FAULT_INVALID_ARGUMENT, "the message must be a JSON object");
    }
    return message;
}

int rpc_finish(struct request *request, struct fault *fault)
{
    const struct rpc *rpc = request->route->rpc;
    const char *text = request->body.data;
    size_t size = request->body.size;
    if (rpc->stream && envelope_parse(text, size, &text, &size, fault) < 0)
        return -1;
    json_auto_t *message = rpc_parse(text, size, fault);
    if (!message)
        return -1;
    buffer_deinit(&request->body);
    if (rpc->stream)
        return rpc->stream(request, message, fault);
    json_t *answer = NULL;
    if (rpc->unary(request, message, &answer, fault) < 0) {
        json_decref(answer);
        return -1;
    }
    return answer ? httpd_reply_json(&request->http, 200, answer) : 0;
}

void rpc_closed(struct request *request)
{
    const struct rpc *rpc = request->route->rpc;
    if (rpc->stream && request->state)
        stream_closed(request->state);
    if (rpc->closed)
        rpc->closed(request);
}

void rpc_append_fault(struct buffer *body, const struct fault *fault)
{
    json_auto_t *json = json_pack("{s:{s:s, s:s}}", "error", "code",
                                  fault_connect_code(fault->code), "message", fault->message);
    autofree char *text = json_dumps(json, JSON_COMPACT);
    envelope_append(body, ENVELOPE_END, text, strlen(text));
}

static int reply_envelopes(struct request *request, const struct buffer *body)
{
    struct MHD_Response *response =
        MHD_create_response_from_buffer(body->size, body->data, MHD_RESPMEM_MUST_COPY);
    MHD_add_response_header(response, "Content-Type", RPC_TYPE_STREAM);
    return httpd_reply(&request->http, 200, response);
}

int rpc_reply_stream_fault(struct request *request, const struct fault *fault)
{
    buffer_auto body = BUFFER_INIT(4096);
    rpc_append_fault(&body, fault);
    return reply_envelopes(request, &body);
}

int rpc_reply_client_stream(struct request *request)
{
    buffer_auto body = BUFFER_INIT(4096);
    envelope_append(&body, 0, "{}", 2);
    envelope_append(&body, ENVELOPE_END, "{}", 2);
    return reply_envelopes(request, &body);
}

int rpc_user(struct request *request, struct user *user, struct fault *fault)
{
    const char *authorization = httpd_header(&request->http, "Authorization");
    if (!authorization || strncasecmp(authorization, "Basic ", 6) != 0)
        return users_find(request->agent->default_user, user, fault);
    struct MHD_BasicAuthInfo *basic =
        MHD_basic_auth_get_username_password3(request->http.connection);
    if (!basic)
        return fault_set(fault, FAULT_UNAUTHENTICATED, "the Authorization header is malformed");
    const char *name = basic->username_len ? basic->username : request->agent->default_user;
    int rc = users_find(name, user, fault);
    MHD_free(basic);
    return rc;
}

int rpc_timeout_ms(const struct request *request, int64_t *timeout_ms, struct fault *fault)
{
    *timeout_ms = 0;
    const char *text = httpd_header(&request->http, "Connect-Timeout-Ms");
    uint64_t value;
    if (!text)
        return 0;
    if (str_parse_u64(text, 0, TIMEOUT_MAX_MS, &value) < 0)
        return fault_set(fault, FAULT_INVALID_ARGUMENT, "Connect-Timeout-Ms is not a number");
    *timeout_ms = (int64_t)value;
    return 0;
}
