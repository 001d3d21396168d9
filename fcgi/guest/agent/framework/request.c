/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/framework/request.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "agent/agent.h"
#include "agent/framework/connect_head.h"
#include "base/mem.h"

struct request *request_new(struct agent *agent)
{
    struct request *request = xcalloc(1, sizeof *request);
    request->agent = agent;
    request->type = rpc_type_json;
    request->peer.fd = -1;
    buffer_init(&request->body, AGENT_BODY_MAX);
    return request;
}

void request_free(struct request *request)
{
    if (request->route && request->route->closed)
        request->route->closed(request);
    loop_remove(&request->agent->loop, &request->peer);
    if (request->to_nudge)
        LIST_REMOVE(request, nudge_link);
    if (request->route && request->route->flags & ROUTE_SECRET)
        buffer_wipe(&request->body);
    else
        buffer_deinit(&request->body);
    httpd_request_deinit(&request->http);
    free(request);
}

bool request_is_strict(const struct request *request)
{
    return httpd_header(&request->http, "X-Request-Id");
}

/* --- names --- */

#define NAMES_MAX 32

/* Of these the first would count, and a proxy may read the last. */
static const char *const single_headers[] = {
    "Authorization",
    "Connect-Content-Encoding",
    "Connect-Timeout-Ms",
    "Content-Encoding",
    "Content-Type",
    "Grpc-Encoding",
    "Grpc-Timeout",
    "If-Match",
    "If-Modified-Since",
    "If-None-Match",
    "If-Range",
    "If-Unmodified-Since",
    "Keepalive-Ping-Interval",
    "Range",
    NULL,
};

struct names {
    const char *const *known; /* ended by NULL; NULL: none */
    const char *kind;
    bool is_strict; /* others are refused */
    bool seen[NAMES_MAX];
    struct rpc_error *error;
};

/* The library finds names without regard to case. */
static int check_name(void *context, const char *name, size_t size)
{
    struct names *names = context;
    for (size_t i = 0; names->known && names->known[i]; i++) {
        const char *known = names->known[i];
        if (strlen(known) != size || strncasecmp(known, name, size) != 0 ||
            (names->is_strict && strncmp(known, name, size) != 0))
            continue;
        if (names->seen[i])
            return rpc_error_set_field(names->error, known, "the %s %s may be given once only",
                                       names->kind, known);
        names->seen[i] = true;
        return 0;
    }
    if (!names->is_strict)
        return 0;
    autofree char *text = xstrndup(name, size);
    return rpc_error_set_unknown(names->error, names->kind, text, text, names->known);
}

int request_check_names(const struct request *request, struct rpc_error *error)
{
    struct names headers = {.known = single_headers, .kind = "header", .error = error};
    struct names query = {.known = request->route->query,
                          .kind = "query parameter",
                          .is_strict = request_is_strict(request),
                          .error = error};
    _Static_assert(ARRAY_SIZE(single_headers) <= NAMES_MAX, "each has a place in seen");
    return httpd_each_header(&request->http, check_name, &headers) < 0
               ? -1
               : httpd_each_argument(&request->http, check_name, &query);
}

int request_argument(const struct request *request, const char *name, const char **value,
                     struct rpc_error *error)
{
    if (httpd_argument(&request->http, name, value) < 0)
        return rpc_error_set(error, RPC_INVALID_ARGUMENT, "%s contains a NUL byte", name);
    return 0;
}

int request_reply_error(struct request *request, const struct rpc_error *error)
{
    request->error = *error;
    return httpd_reply_failure(&request->http);
}

void request_nudge(struct request *request)
{
    if (request->to_nudge)
        return;
    request->to_nudge = true;
    LIST_INSERT_HEAD(&request->agent->to_nudge, request, nudge_link);
}

static void on_peer(struct loop_source *source, uint32_t events)
{
    (void)events;
    struct request *request = container_of(source, struct request, peer);
    /* Once is enough, and a hang-up cannot be masked out of a level-triggered watch. */
    loop_remove(&request->agent->loop, &request->peer);
    request->peer_gone = true;
    if (request->hung_up)
        request->hung_up(request);
    else
        request_nudge(request);
}

void request_watch_peer(struct request *request, void (*hung_up)(struct request *request))
{
    request->hung_up = hung_up;
    int fd = httpd_fd(&request->http);
    if (fd >= 0 && request->peer.fd < 0)
        loop_add(&request->agent->loop, &request->peer, fd, EPOLLRDHUP | EPOLLET, on_peer);
}
