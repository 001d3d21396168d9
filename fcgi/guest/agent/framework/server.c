/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/framework/server.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/socket.h>

#include "agent/agent.h"
#include "agent/common/machine.h"
#include "agent/framework/connect_head.h"
#include "agent/framework/request.h"
#include "agent/framework/rpc_answer.h"
#include "base/error.h"
#include "base/instance.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/trace.h"
#include "httpd/server.h"

#define CONNECTION_MEMORY (256 * 1024)
#define IDLE_TIMEOUT_S    300
/* Of a transfer whose client rests. nginx, which allows an hour, ends it first. */
#define TRANSFER_IDLE_S 3660

#define REQUEST_ID_MAX  128
#define RETRY_AFTER_S   2

/* Of a body that is refused. */
#define SWALLOW_ANSWER_AT (1024 * 1024)
#define SWALLOW_MAX       (64 * 1024 * 1024)

struct connection {
    LIST_ENTRY(connection) link;
    int fd;
};

struct server {
    struct agent *agent;
    struct httpd_options options;
    struct MHD_Daemon *daemon;
    struct loop_source source;
    LIST_HEAD(, connection) connections;
};

static bool peer_is_local(const struct request *request)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(request->http.connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    struct sockaddr_in peer, own;
    socklen_t peer_size = sizeof peer, own_size = sizeof own;
    if (!info || getpeername(info->connect_fd, (struct sockaddr *)&peer, &peer_size) < 0 ||
        getsockname(info->connect_fd, (struct sockaddr *)&own, &own_size) < 0 ||
        peer.sin_family != AF_INET || own.sin_family != AF_INET)
        return true;
    return ntohl(peer.sin_addr.s_addr) >> 24 == IN_LOOPBACKNET ||
           peer.sin_addr.s_addr == own.sin_addr.s_addr;
}

static int check_secret(const struct request *request, struct rpc_error *error)
{
    const struct shared_secret *secret = &request->agent->secret;
    bool is_own = request->route && request->route->flags & ROUTE_OWN;
    if (!secret->known)
        return rpc_error_set(error, RPC_UNAVAILABLE,
                             "the agent has not been initialised by POST /init");
    if (is_own && peer_is_local(request))
        return 0;
    if (!httpd_shows_secret(&request->http, AGENT_SECRET_HEADER, secret))
        return rpc_error_set(error, RPC_UNAUTHENTICATED, "missing or wrong agent secret");
    return 0;
}

static int check_head(struct request *request, const char *method, struct rpc_error *error)
{
    bool path_known;
    request->route = route_find(request->agent->routes, method, request->http.path, &path_known);
    const struct route *route = request->route;
    request->http.answer_at_once = route && route->flags & ROUTE_ENDLESS;
    if (route && route->flags & ROUTE_INTERNAL && !request->agent->trust_local_peers &&
        peer_is_local(request)) {
        request->outsider = true;
        return rpc_error_set(error, RPC_NOT_FOUND, "the agent has no such path");
    }
    if (!route || !(route->flags & ROUTE_OPEN)) {
        request->outsider = check_secret(request, error) < 0;
        if (request->outsider)
            return -1;
        if (agent_is_hung_up(request->agent) && !(route && route->flags & ROUTE_INTERNAL))
            return rpc_error_set(error, RPC_UNAVAILABLE, "the sandbox is being paused");
    }
    if (!route && path_known)
        return rpc_error_set(error, RPC_METHOD_NOT_ALLOWED, "method not allowed");
    if (!route && rpc_is_service_path(request->http.path))
        return rpc_error_set(error, RPC_UNIMPLEMENTED, "the agent has no such method");
    if (!route)
        return rpc_error_set(error, RPC_NOT_FOUND, "the agent has no such path");
    if (!(route->flags & ROUTE_INTERNAL) && request_check_names(request, error) < 0)
        return -1;
    MHD_set_connection_option(request->http.connection, MHD_CONNECTION_OPTION_TIMEOUT,
                              TRANSFER_IDLE_S);
    if (route->begin && route->begin(request, error) < 0)
        return -1;
    if (request->agent->machine && route->flags & ROUTE_INTERNAL)
        machine_set_clock(httpd_header(&request->http, AGENT_TIME_HEADER));
    return 0;
}

static int collect(struct request *request, const char *data, size_t size, struct rpc_error *error)
{
    if (buffer_append(&request->body, data, size) < 0)
        return rpc_error_set(error, RPC_TOO_LARGE, "the request body is larger than %d KiB",
                             AGENT_BODY_MAX / 1024);
    return 0;
}

static struct httpd_request *open_request(void *context)
{
    struct server *server = context;
    return &request_new(server->agent)->http;
}

static int on_head(struct httpd_request *http, const char *method)
{
    struct request *request = request_of(http);
    if (check_head(request, method, &request->error) < 0)
        return -1;
    if (!strcmp(request->route->method, "POST"))
        request_watch_peer(request, NULL);
    return 0;
}

static void on_piece(struct httpd_request *http)
{
    struct request *request = request_of(http);
    if (request->peer_gone)
        request_nudge(request);
}

static int on_data(struct httpd_request *http, const char *data, size_t size)
{
    struct request *request = request_of(http);
    const struct route *route = request->route;
    int rc = route->data ? route->data(request, data, size, &request->error)
                         : collect(request, data, size, &request->error);
    if (route->flags & ROUTE_SECRET)
        mem_wipe((char *)data, size); /* the library's own buffer, used up */
    return rc;
}

static int on_finish(struct httpd_request *http)
{
    struct request *request = request_of(http);
    trace_begin(httpd_header(http, "traceparent"));
    if (trace_id())
        log_info("request", LOG_STR("method", request->route->method),
                 LOG_STR("path", request->http.path));
    int rc = request->route->finish(request, &request->error);
    trace_end();
    return rc;
}

static void on_closed(struct httpd_request *http)
{
    request_free(request_of(http));
}

/* The service's own refusals at this address have these members too. The header comes from nginx,
 * but not at the addresses of E2B's clients. */
static void add_api_members(const struct request *request, json_t *json)
{
    const char *id = httpd_header(&request->http, "X-Request-Id");
    if (!id || strlen(id) > REQUEST_ID_MAX || !str_is_utf8(id, strlen(id)))
        return;
    json_object_set_new(json, "error", json_string(rpc_api_code(request->error.code)));
    json_object_set_new(json, "request_id", json_string(id));
    if (*request->error.field)
        json_object_set_new(json, "field", json_string(request->error.field));
}

static json_t *error_json(const struct request *request, unsigned *status)
{
    const struct rpc_error *error = &request->error;
    bool is_rpc = rpc_is_service_path(request->http.path);
    *status = is_rpc ? rpc_connect_status(error->code) : rpc_rest_status(error->code);
    json_t *json = json_pack("{s:s}", "message", error->message);
    json_object_set_new(json, "code",
                        is_rpc ? json_string(rpc_connect_code(error->code))
                               : json_integer((json_int_t)*status));
    add_api_members(request, json);
    return json;
}

/* The error in the protocol that the path speaks. */
static void describe_failure(const struct httpd_request *http, struct httpd_failure *failure)
{
    const struct request *request = container_of(http, const struct request, http);
    const struct rpc_type *type = request->outsider ? NULL : rpc_type_of(request);
    if (type && type->protocol != RPC_CONNECT) {
        failure->status = 200;
        failure->type = type->media_type;
        rpc_frame_end(type, &request->error, &failure->body);
        return;
    }
    json_auto_t *json = error_json(request, &failure->status);
    autofree char *text = json_dumps(json, JSON_COMPACT);
    failure->type = "application/json";
    buffer_append_string(&failure->body, text);
    if (rpc_may_retry(request->error.code))
        failure->retry_after_s = RETRY_AFTER_S;
    if (request->error.code == RPC_METHOD_NOT_ALLOWED)
        route_allow(request->agent->routes, http->path, &failure->allow);
    if (request->error.code == RPC_UNSUPPORTED_CODING)
        failure->codings = "gzip, identity";
}

static const struct httpd_ops operations = {
    .open = open_request,
    .head = on_head,
    .piece = on_piece,
    .data = on_data,
    .finish = on_finish,
    .closed = on_closed,
    .describe_failure = describe_failure,
    .answer_after = SWALLOW_ANSWER_AT,
    .swallow_max = SWALLOW_MAX,
};

static void on_connection(void *context, struct MHD_Connection *connection, void **own,
                          enum MHD_ConnectionNotificationCode code)
{
    struct server *server = context;
    struct connection *c = *own;
    if (code == MHD_CONNECTION_NOTIFY_STARTED) {
        c = xcalloc(1, sizeof *c);
        c->fd = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
        LIST_INSERT_HEAD(&server->connections, c, link);
        *own = c;
    } else if (c) {
        LIST_REMOVE(c, link);
        free(c);
        *own = NULL;
    }
}

void server_hang_up(struct server *server, const struct request *request)
{
    const struct connection *connection;
    const struct connection *own =
        MHD_get_connection_info(request->http.connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT)
            ->socket_context;
    /* Reset at once: unread data of a slow client would enter the pause, with the end after it. Not
     * closed: the library and the handlers take it as the client's doing. */
    const struct sockaddr nobody = {.sa_family = AF_UNSPEC};
    LIST_FOREACH(connection, &server->connections, link)
    if (connection != own && connect(connection->fd, &nobody, sizeof nobody) < 0)
        shutdown(connection->fd, SHUT_RDWR);
}

static void on_ready(struct loop_source *source, uint32_t events)
{
    /* server_run() follows before the next wait; this source only ends the present one. */
    (void)source;
    (void)events;
}

int server_start(struct agent *agent, int listen_fd, struct server **server, struct error **err)
{
    struct server *s = xcalloc(1, sizeof *s);
    s->agent = agent;
    s->options = (struct httpd_options){
        .ops = &operations,
        .context = s,
        .listen_fd = listen_fd,
        .connection_memory = CONNECTION_MEMORY,
        .connections_max = AGENT_CONNECTIONS_MAX,
        .idle_timeout_s = IDLE_TIMEOUT_S,
        .connected = on_connection,
    };
    s->daemon = httpd_start(&s->options, err);
    if (!s->daemon) {
        free(s);
        return -1;
    }
    const union MHD_DaemonInfo *info = MHD_get_daemon_info(s->daemon, MHD_DAEMON_INFO_EPOLL_FD);
    if (loop_add(&agent->loop, &s->source, info->epoll_fd, EPOLLIN, on_ready) < 0) {
        error_set_errno(err, ERR_INTERNAL, errno, "cannot watch the HTTP server");
        MHD_stop_daemon(s->daemon);
        free(s);
        return -1;
    }
    *server = s;
    return 0;
}

/* No data is lost: no more can come, and received data can still be read. */
static void nudge(struct agent *agent)
{
    struct request *request;
    while ((request = LIST_FIRST(&agent->to_nudge))) {
        LIST_REMOVE(request, nudge_link);
        request->to_nudge = false;
        shutdown(httpd_fd(&request->http), SHUT_RD);
    }
}

int64_t server_run(struct server *server)
{
    MHD_run(server->daemon);
    nudge(server->agent);
    uint64_t limit_ms;
    if (MHD_get_timeout64(server->daemon, &limit_ms) != MHD_YES)
        return -1;
    return limit_ms > INT32_MAX ? INT32_MAX : (int64_t)limit_ms;
}
