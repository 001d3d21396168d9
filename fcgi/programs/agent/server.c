/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/socket.h>

#include <microhttpd.h>

#include "agent/agent.h"
#include "agent/connect_rpc.h"
#include "agent/request.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "base/mem.h"

/* A connection's whole memory in the HTTP library: head, parsed head, and the buffer that body
 * bytes pass through. Above 32 KiB the library maps it, so that an idle connection costs only the
 * pages it touched. */
#define CONNECTION_MEMORY (256 * 1024)

#define IDLE_TIMEOUT_S    300

struct connection {
    LIST_ENTRY(connection) link;
    int fd;
};

struct server {
    struct agent *agent;
    struct MHD_Daemon *daemon;
    struct loop_source source;
    LIST_HEAD(, connection) connections;
    LIST_HEAD(, request) to_nudge;
};

static bool peer_is_local(const struct request *request)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(request->connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    struct sockaddr_in peer, own;
    socklen_t peer_size = sizeof peer, own_size = sizeof own;
    if (!info || getpeername(info->connect_fd, (struct sockaddr *)&peer, &peer_size) < 0 ||
        getsockname(info->connect_fd, (struct sockaddr *)&own, &own_size) < 0 ||
        peer.sin_family != AF_INET || own.sin_family != AF_INET)
        return true;
    return ntohl(peer.sin_addr.s_addr) >> 24 == IN_LOOPBACKNET ||
           peer.sin_addr.s_addr == own.sin_addr.s_addr;
}

static int check_secret(const struct request *request, struct fault *fault)
{
    if (!request->agent->auth.known)
        return fault_set(fault, FAULT_UNAVAILABLE, "the agent has not been initialised");
    const char *secret = request_header(request, AUTH_HEADER);
    if (!secret || !auth_matches(&request->agent->auth, secret, strlen(secret)))
        return fault_set(fault, FAULT_UNAUTHENTICATED, "missing or wrong agent secret");
    return 0;
}

static bool has_hung_up(const struct agent *agent)
{
    return agent->hung_up_until_ms && clock_monotonic_ms() < agent->hung_up_until_ms;
}

static int check_head(struct request *request, const char *method, struct fault *fault)
{
    bool path_known;
    request->route = routes_find(method, request->path, &path_known);
    const struct route *route = request->route;
    if (route && route->flags & ROUTE_INTERNAL && !request->agent->trust_local_peers &&
        peer_is_local(request)) {
        request->outsider = true;
        return fault_set(fault, FAULT_NOT_FOUND, "no such path");
    }
    if (!route || !(route->flags & ROUTE_OPEN)) {
        request->outsider = check_secret(request, fault) < 0;
        if (request->outsider)
            return -1;
        if (has_hung_up(request->agent) && !(route && route->flags & ROUTE_INTERNAL))
            return fault_set(fault, FAULT_UNAVAILABLE, "the sandbox is being paused");
    }
    if (!route && path_known)
        return fault_set(fault, FAULT_METHOD_NOT_ALLOWED, "method not allowed");
    if (!route && rpc_is_service_path(request->path))
        return fault_set(fault, FAULT_UNIMPLEMENTED, "no such method");
    if (!route)
        return fault_set(fault, FAULT_NOT_FOUND, "no such path");
    return route->begin ? route->begin(request, fault) : 0;
}

static int collect(struct request *request, const char *data, size_t size, struct fault *fault)
{
    if (buffer_append(&request->body, data, size) < 0)
        return fault_set(fault, FAULT_TOO_LARGE, "the request body is larger than %d KiB",
                         AGENT_BODY_MAX / 1024);
    return 0;
}

static enum MHD_Result handle_head(struct request *request, const char *method)
{
    if (check_head(request, method, &request->fault) == 0) {
        if (!strcmp(request->route->method, "POST"))
            request_watch_peer(request, NULL);
        return MHD_YES;
    }
    /* A client that waits for "100 Continue" has not sent its body and need not. */
    if (request_header(request, "Expect")) {
        request->failed = true;
        return request_reply_fault(request, &request->fault) < 0 ? MHD_NO : MHD_YES;
    }
    request_fail(request);
    return MHD_YES;
}

static enum MHD_Result handle_data(struct request *request, const char *data, size_t *size)
{
    const struct route *route = request->route;
    size_t piece = *size;
    if (request->peer_gone)
        server_nudge(request->agent->server, request);
    if (request->piece_max && piece > request->piece_max && !request->failed)
        piece = request->piece_max;
    *size -= piece; /* what is left comes again, after the others had their turn */
    if (request->failed)
        return request_swallow(request, piece) < 0 ? MHD_NO : MHD_YES;
    int (*take)(struct request *, const char *, size_t, struct fault *) =
        route->data ? route->data : collect;
    if (take(request, data, piece, &request->fault) < 0)
        request_fail(request);
    if (route->flags & ROUTE_SECRET)
        mem_wipe((char *)data, piece); /* the library's own buffer, used up */
    return MHD_YES;
}

static enum MHD_Result handle_end(struct request *request)
{
    request->finished = true;
    if (!request->failed && request->route->finish(request, &request->fault) < 0)
        request->failed = true;
    if (request->failed && request_reply_fault(request, &request->fault) < 0)
        return MHD_NO;
    return MHD_YES;
}

static enum MHD_Result on_access(void *context, struct MHD_Connection *connection, const char *url,
                                 const char *method, const char *version, const char *data,
                                 size_t *data_size, void **request_context)
{
    (void)version;
    struct server *server = context;
    struct request *request = *request_context;
    if (!request) {
        *request_context = request = request_new(server->agent, connection, url);
        return handle_head(request, method);
    }
    if (*data_size)
        return handle_data(request, data, data_size);
    if (request->reply) {
        struct MHD_Response *reply = steal_pointer(&request->reply);
        return request_reply(request, request->reply_status, reply) < 0 ? MHD_NO : MHD_YES;
    }
    if (request->replied)
        return MHD_YES;
    /* Resumed without a reply: the peer went away while the request was suspended. */
    return request->finished ? MHD_NO : handle_end(request);
}

static void on_completed(void *context, struct MHD_Connection *connection, void **request_context,
                         enum MHD_RequestTerminationCode how)
{
    (void)context;
    (void)connection;
    (void)how;
    struct request *request = *request_context;
    if (!request)
        return;
    request_free(request);
    *request_context = NULL;
}

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
        MHD_get_connection_info(request->connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT)
            ->socket_context;
    /* Reset at once: what a slow client has not read yet would go into the pause, and the end
     * behind it. Not closed: the library and the handlers take it as the client's doing. */
    const struct sockaddr nobody = {.sa_family = AF_UNSPEC};
    LIST_FOREACH(connection, &server->connections, link)
    if (connection != own && connect(connection->fd, &nobody, sizeof nobody) < 0)
        shutdown(connection->fd, SHUT_RDWR);
}

__attribute__((format(printf, 2, 0))) static void on_library_log(void *context, const char *format,
                                                                 va_list ap)
{
    (void)context;
    char text[512], *detail = text;
    vsnprintf(text, sizeof text, format, ap);
    text[strcspn(text, "\r\n")] = '\0';
    log_debug("http", LOG_STR("detail", detail));
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
    s->daemon = MHD_start_daemon(
        MHD_USE_EPOLL | MHD_USE_NO_THREAD_SAFETY | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG, 0,
        NULL, NULL, on_access, s, MHD_OPTION_EXTERNAL_LOGGER, on_library_log, s,
        MHD_OPTION_LISTEN_SOCKET, listen_fd, MHD_OPTION_NOTIFY_COMPLETED, on_completed, s,
        MHD_OPTION_NOTIFY_CONNECTION, on_connection, s, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
        (size_t)CONNECTION_MEMORY, MHD_OPTION_CONNECTION_MEMORY_INCREMENT, (size_t)4096,
        MHD_OPTION_CONNECTION_LIMIT, (unsigned)AGENT_CONNECTIONS_MAX, MHD_OPTION_CONNECTION_TIMEOUT,
        (unsigned)IDLE_TIMEOUT_S, MHD_OPTION_END);
    if (!s->daemon) {
        free(s);
        return error_set_errno(err, ERR_INTERNAL, errno, "the HTTP server cannot start");
    }
    const union MHD_DaemonInfo *info = MHD_get_daemon_info(s->daemon, MHD_DAEMON_INFO_EPOLL_FD);
    if (loop_watch(&agent->loop, &s->source, info->epoll_fd, EPOLLIN, on_ready) < 0) {
        error_set_errno(err, ERR_INTERNAL, errno, "the HTTP server cannot be watched");
        MHD_stop_daemon(s->daemon);
        free(s);
        return -1;
    }
    *server = s;
    return 0;
}

void server_nudge(struct server *server, struct request *request)
{
    if (request->to_nudge)
        return;
    request->to_nudge = true;
    LIST_INSERT_HEAD(&server->to_nudge, request, nudge_link);
}

/* Nothing is lost by it: nothing more can come, and what has come can still be read. */
static void nudge(struct server *server)
{
    struct request *request;
    while ((request = LIST_FIRST(&server->to_nudge))) {
        LIST_REMOVE(request, nudge_link);
        request->to_nudge = false;
        shutdown(request_fd(request), SHUT_RD);
    }
}

int64_t server_run(struct server *server)
{
    MHD_run(server->daemon);
    nudge(server);
    uint64_t limit_ms;
    if (MHD_get_timeout64(server->daemon, &limit_ms) != MHD_YES)
        return -1;
    return limit_ms > INT32_MAX ? INT32_MAX : (int64_t)limit_ms;
}
