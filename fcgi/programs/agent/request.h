/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One HTTP request in the agent: what httpd/server.h goes through, with the row of the route table
 * that serves it. A row's handlers are called in this order, each at most as often as said; each
 * may fail with a fault, which then is the answer after the rest of the body has been swallowed:
 *   begin   once, when the head is there (optional)
 *   data    per piece of the body (optional: without it the body is collected up to
 *           AGENT_BODY_MAX)
 *   finish  once, when the request is complete: it must reply, or suspend and reply later
 *   closed  once, when the request is over, whatever happened (optional)
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/queue.h>

#include "agent/fault.h"
#include "base/buffer.h"
#include "base/loop.h"
#include "base/mem.h"
#include "httpd/request.h"

struct agent;
struct request;
struct user;

enum route_flags {
    ROUTE_OPEN = 1,     /* answers without the secret */
    ROUTE_INTERNAL = 2, /* only for peers outside the sandbox */
    ROUTE_PREFIX = 4,   /* the path is a prefix; handlers look at what follows */
    ROUTE_SECRET = 8,   /* the body holds secrets: wiped wherever it was */
    ROUTE_ENDLESS = 16, /* the body may go on for hours: a failure is answered in its middle */
};

struct route {
    const char *method; /* GET answers HEAD too */
    const char *path;
    unsigned flags;
    int (*begin)(struct request *request, struct fault *fault);
    int (*data)(struct request *request, const char *data, size_t size, struct fault *fault);
    int (*finish)(struct request *request, struct fault *fault);
    void (*closed)(struct request *request);
    const struct rpc *rpc;
};

struct request {
    struct httpd_request http;
    struct agent *agent;
    const struct route *route;
    struct buffer body; /* of routes without data() */
    void *state;        /* the handlers' own */
    bool outsider;      /* did not show the secret */
    struct fault fault;

    /* Told when the peer hangs up while the request is suspended; the request ends soon after. */
    void (*hung_up)(struct request *request);
    struct loop_source peer;
    bool peer_gone; /* it has sent its last byte, and the library may not know */
    bool to_nudge;
    LIST_ENTRY(request) nudge_link;
};

/* Made and ended by the server. */
struct request *request_new(struct agent *agent);
void request_free(struct request *request);

static inline struct request *request_of(struct httpd_request *http)
{
    return container_of(http, struct request, http);
}

/* The table of routes, and what is chosen for a method and path. NULL: no such path;
 * *path_known says whether only the method is wrong. */
const struct route *routes_find(const char *method, const char *path, bool *path_known);

/* The methods that a path knows, for the header Allow. */
void routes_allow(const char *path, struct buffer *methods);

/* As httpd_argument(); a value with a NUL byte in it is FAULT_INVALID_ARGUMENT. */
int request_argument(const struct request *request, const char *name, const char **value,
                     struct fault *fault);

/* The answer is this fault. */
int request_reply_fault(struct request *request, const struct fault *fault);

/* For httpd/server.h: the fault in the protocol that the path speaks. */
void request_describe_failure(const struct httpd_request *http, struct httpd_failure *failure);

/* Start telling about a peer that goes away. hung_up NULL: the library is made to look. */
void request_watch_peer(struct request *request, void (*hung_up)(struct request *request));
