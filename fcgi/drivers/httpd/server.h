/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Run the HTTP server of a program inside an instance with libmicrohttpd. A request passes these
 * steps of the program. Each but the last may fail; the failure is then answered:
 *   head    once, when the head has arrived
 *   data    for each piece of the body
 *   finish  once, when the request is complete: it must reply, or suspend and reply later
 *   closed  once, when the request is over, after each outcome
 */
#pragma once

#include "base/error.h"
#include "httpd/request.h"

struct httpd_ops {
    /* Create a request; its struct httpd_request is zero except the members that the program
     * sets. */
    struct httpd_request *(*open)(void *context);
    int (*head)(struct httpd_request *request, const char *method);
    /* Called before each piece, also of a refused body. Optional. */
    void (*piece)(struct httpd_request *request);
    int (*data)(struct httpd_request *request, const char *data, size_t size);
    int (*finish)(struct httpd_request *request);
    void (*closed)(struct httpd_request *request); /* calls httpd_request_deinit() and frees it */

    /* Answer the client after a failure. */
    void (*describe_failure)(const struct httpd_request *request, struct httpd_failure *failure);

    /* Limits for the bytes of a refused body: after the first, the answer is sent at once; after
     * the second, the connection is closed. */
    uint64_t answer_after, swallow_max;
};

/* Borrowed as long as the server runs. */
struct httpd_options {
    const struct httpd_ops *ops;
    void *context;
    int listen_fd;            /* taken over when the server starts */
    size_t thread_stack;      /* of the thread of each connection; 0: no threads, the program calls
                                 MHD_run() when its epoll descriptor is readable */
    size_t connection_memory; /* a connection's whole memory in the library: head, parsed head, and
                                 the buffer that body bytes pass through. Above 32 KiB it is mapped,
                                 so that an idle connection costs only the pages it touched */
    unsigned connections_max, idle_timeout_s;
    MHD_NotifyConnectionCallback connected; /* with context; optional */
};

/* Create a listening socket at an IPv4 address. Returns the descriptor, which the caller closes, or
 * -1. Errors: ERR_CONFIG. */
int httpd_listen(const char *address, uint16_t port, struct error **err);

/* Start the server. The caller ends it with MHD_stop_daemon(). NULL: ERR_INTERNAL. */
struct MHD_Daemon *httpd_start(const struct httpd_options *options, struct error **err);
