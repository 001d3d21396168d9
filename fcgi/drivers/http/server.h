/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Serve FastCGI requests on file descriptor 0. */
#pragma once

#include "http/http.h"

/* The most memory of a worker's requests, in addition to its memory at rest. */
#define HTTP_SERVER_REQUEST_MEMORY ((size_t)64 << 20)

struct http_server {
    /* Fill the response; called for each request, and again for one that must wait or is pending
     * (http.h). */
    void (*serve)(void *context, struct http_request *request, struct http_response *response);
    void *context;
    size_t body_max; /* bytes; of a longer body request->body_too_large is set. 0: bodies are
                        not read at all, not even an upload that nginx streams along */
    /* Return the most bytes of this request's body (router_body_max()). May be NULL. */
    size_t (*body_max_of)(void *context, const struct http_request *request, size_t body_max);
    /* Read bodies only when the program calls take_body() of the request. */
    bool late_body;
    /* Bytes/s with which a client must send its body and read its answer (pace.h). It holds after
     * the worker has waited body_grace_s for the client. The worker's own time does not count. 0:
     * any speed. */
    unsigned body_rate_min, body_grace_s;
    struct pool *pool;     /* whose worker this is: left at the end of each request, and requests
                              that must wait for it are kept meanwhile. May be NULL */
    unsigned max_requests; /* exit after this number (0: never), so that a leak stays small */
    bool log_requests;     /* one event for each request */
    size_t memory_max; /* bytes that the process may take beyond those at the start of serving. A
                          process that needs more ends, and its request fails. 0: no limit */
};

/* Serve until SIGTERM or SIGINT, and finish the current request first. SIGHUP reopens the log.
 * These signals reach the process only while it waits for a request, so they never interrupt a
 * system call of a handler. Returns 0 after a signal or max_requests. Errors: ERR_CONFIG (file
 * descriptor 0 is not a FastCGI socket, or the memory cannot be limited). */
int http_server_run(const struct http_server *server, struct error **err);
