/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The HTTP server of a program inside an instance: libmicrohttpd, with the order in which a request
 * goes through the program. Each step may fail, which then is the answer:
 *   head    once, when the head is there
 *   data    per piece of the body
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
    void (*piece)(
        struct httpd_request *request); /* before each piece, refused ones too; optional */
    int (*data)(struct httpd_request *request, const char *data, size_t size);
    int (*finish)(struct httpd_request *request);
    void (*closed)(struct httpd_request *request); /* calls httpd_request_deinit() and frees it */

    /* Answer the client after a failure. */
    void (*describe_failure)(const struct httpd_request *request, struct httpd_failure *failure);

    /* Bytes of a refused body: behind the first the answer goes out before its end, behind the
     * second the connection is cut. */
    uint64_t answer_after, swallow_max;
};

/* Borrowed as long as the server runs. */
struct httpd_options {
    const struct httpd_ops *ops;
    void *context;
    int listen_fd;       /* taken over when the server starts */
    size_t thread_stack; /* of the thread that each connection has; 0: there are no threads, the
                            program calls MHD_run() when the epoll set has something */
    size_t connection_memory; /* a connection's whole memory in the library: head, parsed head, and
                                 the buffer that body bytes pass through. Above 32 KiB it is mapped,
                                 so that an idle connection costs only the pages it touched */
    unsigned connections_max, idle_timeout_s;
    MHD_NotifyConnectionCallback connected; /* with context; optional */
};

/* Create a listening socket. Errors: ERR_CONFIG. */
int httpd_listen(const char *address, uint16_t port, struct error **err);

/* Serve. NULL with *err: ERR_INTERNAL. */
struct MHD_Daemon *httpd_start(const struct httpd_options *options, struct error **err);
