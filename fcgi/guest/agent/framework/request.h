/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One HTTP request in the agent: the request of httpd/server.h, and the route that serves it. */
#pragma once

#include <stdbool.h>
#include <sys/queue.h>

#include "agent/common/rpc_error.h"
#include "agent/framework/route.h"
#include "base/buffer.h"
#include "base/loop.h"
#include "base/mem.h"
#include "httpd/request.h"

struct agent;
struct rpc_type;

struct request {
    struct httpd_request http;
    struct agent *agent;
    const struct route *route;
    struct buffer body;          /* of routes without data() */
    void *state;                 /* the handlers' own */
    bool outsider;               /* did not show the secret */
    const struct rpc_type *type; /* how a call to a service is written; else JSON */
    bool compressed;             /* its messages may be gzip */
    bool packs;                  /* those of the answer, too */
    struct rpc_error error;

    /* Told when the peer hangs up while the request is suspended; the request ends soon after. */
    void (*hung_up)(struct request *request);
    struct loop_source peer;
    bool peer_gone; /* it has sent its last byte, and the library may not know */
    bool to_nudge;
    LIST_ENTRY(request) nudge_link;
};

/* Create a request; the server makes and ends it. */
struct request *request_new(struct agent *agent);
void request_free(struct request *request);

static inline struct request *request_of(struct httpd_request *http)
{
    return container_of(http, struct request, http);
}

/* Return whether the request came to an address of ours, whose requests nginx numbers, and not to
 * one of E2B's clients, whose unknown members are ignored. */
bool request_is_strict(const struct request *request);

/* Check the names of the query parameters and the headers: none that is read once comes twice, and
 * none that a strict call does not know. Errors: RPC_INVALID_ARGUMENT with the name. */
int request_check_names(const struct request *request, struct rpc_error *error);

/* Do the same as httpd_argument(); a value with a NUL byte in it is RPC_INVALID_ARGUMENT. */
int request_argument(const struct request *request, const char *name, const char **value,
                     struct rpc_error *error);

/* Answer with this error. */
int request_reply_error(struct request *request, const struct rpc_error *error);

/* Let the library check the socket: the peer of this request has sent its last byte. The library
 * waits for changes of sockets, and takes a short read for the whole content. So it misses an end
 * that came together with the last bytes. The server makes it read once more, after the known
 * bytes. Call it again when that read brought more. */
void request_nudge(struct request *request);

/* Report from now on that the peer goes away. hung_up NULL: only let the library check. */
void request_watch_peer(struct request *request, void (*hung_up)(struct request *request));
