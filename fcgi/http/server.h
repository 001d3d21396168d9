/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The accept loop of a FastCGI worker on file descriptor 0. */
#pragma once

#include "http/http.h"

struct http_server {
    /* Fill the response; called once a request, between accept and finish. */
    void (*serve)(void *context, struct http_request *request, struct http_response *response);
    void *context;
    size_t body_max;       /* bytes; longer bodies are answered 413 before serve() */
    unsigned max_requests; /* exit after that many (0: never), so that a leak stays small */
    bool log_requests;     /* one event a request */
};

/* Serve until SIGTERM or SIGINT; the request in hand is finished first. SIGHUP reopens the log.
 * Returns 0, or -1 when fd 0 is no FastCGI socket. */
int http_server_run(const struct http_server *server, struct error **err);
