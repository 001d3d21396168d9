/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The accept loop of a FastCGI worker on file descriptor 0. */
#pragma once

#include "http/http.h"

/* Most memory of a worker's requests beyond its memory at rest. */
#define HTTP_SERVER_REQUEST_MEMORY ((size_t)64 << 20)

struct http_server {
    /* Fill the response; called once a request, between accept and finish. */
    void (*serve)(void *context, struct http_request *request, struct http_response *response);
    void *context;
    size_t body_max; /* bytes; of a longer body request->body_too_large is set. 0: bodies are
                        not read at all, not even an upload that nginx streams along */
    /* How much of this request's body, when body_max is the usual (HTTP_BODY_LEFT: the handler
     * reads it). May be NULL. */
    size_t (*body_max_of)(void *context, const struct http_request *request, size_t body_max);
    /* Bodies wait until who serves the request calls its take_body(). Else they are there before.
     */
    bool late_body;
    /* Bytes/s with which a client must send its body and read its answer (pace.h). It holds after
     * the worker has waited body_grace_s for the client. The worker's own time does not count. 0:
     * any. */
    unsigned body_rate_min, body_grace_s;
    struct pool *pool;     /* whose worker this is: left at the end of each request, and requests
                              that must wait for it are kept meanwhile. May be NULL */
    unsigned max_requests; /* exit after that many (0: never), so that a leak stays small */
    bool log_requests;     /* one event a request */
    size_t memory_max; /* bytes that the process may take beyond those at the start of serving. A
                          process that needs more ends, and its request fails. 0: any */
};

/* Serve until SIGTERM or SIGINT; the request in hand is finished first. SIGHUP reopens the log.
 * These signals reach the process only while it waits for a request, so no system call of a
 * handler is ever interrupted. Returns 0, or -1 (ERR_CONFIG) when fd 0 is no FastCGI socket. */
int http_server_run(const struct http_server *server, struct error **err);
