/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One HTTP request in the agent, between the HTTP library and the handlers.
 *
 * A route's handlers are called in this order, each at most as often as said; each may fail with a
 * fault, which then is the answer after the rest of the body has been swallowed:
 *   begin   once, when the head is there (optional)
 *   data    per piece of the body (optional: without it the body is collected up to
 *           AGENT_BODY_MAX)
 *   finish  once, when the request is complete: it must reply, or suspend and reply later
 *   closed  once, when the request is over, whatever happened (optional)
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include <microhttpd.h>

#include "agent/fault.h"
#include "base/buffer.h"
#include "base/loop.h"

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
    struct agent *agent;
    struct MHD_Connection *connection;
    const struct route *route;
    const char *path;   /* decoded, without the query; lives as long as the request */
    struct buffer body; /* of routes without data() */
    void *state;        /* the handlers' own */
    bool outsider;      /* did not show the secret */
    bool failed, finished, replied, suspended;
    bool answered_early; /* past the library, with the fault */
    struct fault fault;
    size_t piece_max;   /* of what data() gets at once; 0: whatever came */
    uint64_t swallowed; /* bytes of the body that came after the failure */

    /* Told when the peer hangs up while the request is suspended; the request ends soon after. */
    void (*hung_up)(struct request *request);
    struct loop_source peer;
    bool peer_gone; /* it has sent its last byte, and the library may not know */
    bool to_nudge;
    LIST_ENTRY(request) nudge_link;

    struct MHD_Response *reply; /* waits for the end of a suspension */
    int reply_status;
};

/* Made and ended by the server. path is borrowed. */
struct request *request_new(struct agent *agent, struct MHD_Connection *connection,
                            const char *path);
void request_free(struct request *request);

/* The request has failed with request->fault. */
void request_fail(struct request *request);

/* Throw size bytes of a refused body away. A long one is answered before its end; returns -1 when
 * the connection is to be closed. */
int request_swallow(struct request *request, size_t size);

/* The table of routes, and what is chosen for a method and path. NULL: no such path;
 * *path_known says whether only the method is wrong. */
const struct route *routes_find(const char *method, const char *path, bool *path_known);

/* The methods that a path knows, for the header Allow. */
void routes_allow(const char *path, struct buffer *methods);

/* Header or query argument, NULL when absent. A value with a NUL byte in it counts as absent for
 * headers; for arguments it is FAULT_INVALID_ARGUMENT. */
const char *request_header(const struct request *request, const char *name);
int request_argument(const struct request *request, const char *name, const char **value,
                     struct fault *fault);

/* Whether the media type of the body is this one, parameters aside. */
bool request_content_is(const struct request *request, const char *media_type);

/* Answers; exactly one per request. The JSON value's reference and the response are taken over. */
int request_reply(struct request *request, int status, struct MHD_Response *response);
int request_reply_json(struct request *request, int status, json_t *json);
int request_reply_empty(struct request *request, int status);
int request_reply_fault(struct request *request, const struct fault *fault);

/* The connection's socket; -1 when there is none. */
int request_fd(const struct request *request);

/* Leave the connection alone until request_resume(), or until a reply is given. */
void request_suspend(struct request *request);
void request_resume(struct request *request);

/* Start telling about a peer that goes away. hung_up NULL: the library is made to look. */
void request_watch_peer(struct request *request, void (*hung_up)(struct request *request));
