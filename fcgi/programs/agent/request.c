/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/request.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

#include "agent/agent.h"
#include "agent/connect_rpc.h"
#include "agent/server.h"
#include "base/mem.h"

/* A refused body is read to its end, because a proxy that still sends may lose the answer; past
 * the first limit the answer goes out at once, past the second the connection is cut. */
#define SWALLOW_ANSWER_AT (1024 * 1024)
#define SWALLOW_MAX       (64 * 1024 * 1024)

struct request *request_new(struct agent *agent, struct MHD_Connection *connection,
                            const char *path)
{
    struct request *request = xcalloc(1, sizeof *request);
    request->agent = agent;
    request->connection = connection;
    request->path = path;
    request->peer.fd = -1;
    buffer_init(&request->body, AGENT_BODY_MAX);
    return request;
}

void request_free(struct request *request)
{
    if (request->route && request->route->closed)
        request->route->closed(request);
    loop_unwatch(&request->agent->loop, &request->peer);
    if (request->to_nudge)
        LIST_REMOVE(request, nudge_link);
    if (request->reply)
        MHD_destroy_response(request->reply);
    if (request->route && request->route->flags & ROUTE_SECRET)
        buffer_wipe(&request->body);
    else
        buffer_deinit(&request->body);
    free(request);
}

int request_fd(const struct request *request)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(request->connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    return info ? info->connect_fd : -1;
}

static bool speaks_rpc(const struct request *request)
{
    return rpc_is_service_path(request->path);
}

static json_t *fault_json(const struct request *request, const struct fault *fault, int *status)
{
    if (speaks_rpc(request)) {
        *status = fault_connect_status(fault->code);
        return json_pack("{s:s, s:s}", "code", fault_connect_code(fault->code), "message",
                         fault->message);
    }
    *status = fault_rest_status(fault->code);
    return json_pack("{s:i, s:s}", "code", *status, "message", fault->message);
}

/* Status, media type and body of the answer to a failed request. */
static int format_fault(const struct request *request, const char **type, struct buffer *body)
{
    int status = 200;
    if (!request->outsider && rpc_is_stream_request(request)) {
        *type = RPC_TYPE_STREAM;
        rpc_append_fault(body, &request->fault);
        return status;
    }
    json_auto_t *json = fault_json(request, &request->fault, &status);
    autofree char *text = json_dumps(json, JSON_COMPACT);
    *type = "application/json";
    buffer_append_string(body, text);
    return status;
}

/* The library takes no answer in the middle of a body, so this one goes past it. Nothing of ours
 * has been sent on the connection yet, and nothing will be: it is closed at the body's end. */
static void answer_early(struct request *request)
{
    buffer_auto answer = BUFFER_INIT(8192);
    buffer_auto body = BUFFER_INIT(4096);
    const char *type;
    int status = format_fault(request, &type, &body);
    request->answered_early = true;
    buffer_printf(&answer,
                  "HTTP/1.1 %d %s\r\nContent-Type: %s\r\n"
                  "Content-Length: %zu\r\nConnection: close\r\n\r\n",
                  status, MHD_get_reason_phrase_for((unsigned)status), type, body.size);
    buffer_append(&answer, body.data, body.size);
    int fd = request_fd(request);
    if (send(fd, answer.data, answer.size, MSG_DONTWAIT | MSG_NOSIGNAL) > 0)
        shutdown(fd, SHUT_WR);
}

void request_fail(struct request *request)
{
    request->failed = true;
    if (request->route && request->route->flags & ROUTE_ENDLESS)
        answer_early(request);
}

int request_swallow(struct request *request, size_t size)
{
    uint64_t before = request->swallowed;
    request->swallowed += size;
    if (before <= SWALLOW_ANSWER_AT && request->swallowed > SWALLOW_ANSWER_AT &&
        !request->answered_early)
        answer_early(request);
    return request->swallowed > SWALLOW_MAX ? -1 : 0;
}

const char *request_header(const struct request *request, const char *name)
{
    const char *value = NULL;
    size_t size = 0;
    if (MHD_lookup_connection_value_n(request->connection, MHD_HEADER_KIND, name, strlen(name),
                                      &value, &size) != MHD_YES ||
        !value || strlen(value) != size)
        return NULL;
    return value;
}

int request_argument(const struct request *request, const char *name, const char **value,
                     struct fault *fault)
{
    size_t size = 0;
    *value = NULL;
    if (MHD_lookup_connection_value_n(request->connection, MHD_GET_ARGUMENT_KIND, name,
                                      strlen(name), value, &size) != MHD_YES)
        return 0;
    if (!*value) /* "?path" without "=" */
        *value = "";
    else if (strlen(*value) != size)
        return fault_set(fault, FAULT_INVALID_ARGUMENT, "%s contains a NUL byte", name);
    return 0;
}

bool request_content_is(const struct request *request, const char *media_type)
{
    const char *value = request_header(request, "Content-Type");
    size_t length = strlen(media_type);
    return value && !strncasecmp(value, media_type, length) &&
           (!value[length] || strchr("; \t", value[length]));
}

int request_reply(struct request *request, int status, struct MHD_Response *response)
{
    if (request->suspended) {
        request->replied = true;
        request->reply = response;
        request->reply_status = status;
        request_resume(request);
        return 0;
    }
    enum MHD_Result queued = MHD_queue_response(request->connection, (unsigned)status, response);
    MHD_destroy_response(response);
    request->replied = true;
    return queued == MHD_YES ? 0 : -1;
}

/* The reference is taken over. NULL: it holds what is no text. */
static struct MHD_Response *json_response(json_t *json)
{
    char *text = json_dumps(json, JSON_COMPACT);
    json_decref(json);
    if (!text)
        return NULL;
    struct MHD_Response *response =
        MHD_create_response_from_buffer(strlen(text), text, MHD_RESPMEM_MUST_FREE);
    MHD_add_response_header(response, "Content-Type", "application/json");
    return response;
}

int request_reply_json(struct request *request, int status, json_t *json)
{
    struct MHD_Response *response = json_response(json);
    return response ? request_reply(request, status, response) : -1;
}

int request_reply_empty(struct request *request, int status)
{
    return request_reply(request, status,
                         MHD_create_response_from_buffer(0, (void *)"", MHD_RESPMEM_PERSISTENT));
}

int request_reply_fault(struct request *request, const struct fault *fault)
{
    if (!request->outsider && rpc_is_stream_request(request))
        return rpc_reply_stream_fault(request, fault);
    int status;
    struct MHD_Response *response = json_response(fault_json(request, fault, &status));
    if (!response)
        return -1;
    if (fault->code == FAULT_METHOD_NOT_ALLOWED) {
        buffer_auto methods = BUFFER_INIT(64);
        routes_allow(request->path, &methods);
        MHD_add_response_header(response, "Allow", buffer_string(&methods));
    }
    return request_reply(request, status, response);
}

void request_suspend(struct request *request)
{
    if (request->suspended)
        return;
    request->suspended = true;
    MHD_suspend_connection(request->connection);
}

void request_resume(struct request *request)
{
    if (!request->suspended)
        return;
    request->suspended = false;
    MHD_resume_connection(request->connection);
}

static void on_peer(struct loop_source *source, uint32_t events)
{
    (void)events;
    struct request *request = container_of(source, struct request, peer);
    /* Once is enough, and a hang-up cannot be masked out of a level-triggered watch. */
    loop_unwatch(&request->agent->loop, &request->peer);
    request->peer_gone = true;
    if (request->hung_up)
        request->hung_up(request);
    else
        server_nudge(request->agent->server, request);
}

void request_watch_peer(struct request *request, void (*hung_up)(struct request *request))
{
    request->hung_up = hung_up;
    int fd = request_fd(request);
    if (fd >= 0 && request->peer.fd < 0)
        loop_watch(&request->agent->loop, &request->peer, fd, EPOLLRDHUP | EPOLLET, on_peer);
}
