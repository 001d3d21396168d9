/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Routes: a row describes one endpoint of the agent. Its handlers are called in this order. Each
 * may fail with an error, which then is the answer after the rest of the body has been swallowed.
 *
 *   begin   once, when the head is there (optional)
 *   data    per piece of the body (optional: without it the body is collected up to
 *           AGENT_BODY_MAX)
 *   finish  once, when the request is complete: it must reply, or suspend and reply later
 *   closed  once, when the request is over, after each outcome (optional)
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "agent/common/rpc_error.h"
#include "base/buffer.h"

struct request;

enum route_flags {
    ROUTE_OPEN = 1,     /* answers without the secret */
    ROUTE_INTERNAL = 2, /* only for peers outside the sandbox */
    ROUTE_PREFIX = 4,   /* the path is a prefix; handlers read the rest */
    ROUTE_SECRET = 8,   /* the body holds secrets: wiped wherever it was */
    ROUTE_ENDLESS = 16, /* the body may last for hours: a failure is answered in its middle */
    ROUTE_OWN = 32,     /* processes of the sandbox itself need no secret */
};

struct route {
    const char *method; /* GET answers HEAD too */
    const char *path;
    unsigned flags;
    const char *const *query; /* the query parameters, ended by NULL; NULL: none. Of an internal
                               * route they are not checked */
    int (*begin)(struct request *request, struct rpc_error *error);
    int (*data)(struct request *request, const char *data, size_t size, struct rpc_error *error);
    int (*finish)(struct request *request, struct rpc_error *error);
    void (*closed)(struct request *request);
    const struct rpc *rpc;
};

struct route_table {
    const struct route *rows;
    size_t count;
};

/* Find the route for a method and path. NULL: no such path; *path_known says whether only the
 * method is wrong. */
const struct route *route_find(const struct route_table *table, const char *method,
                               const char *path, bool *path_known);

/* List the methods that a path knows, for the header Allow. */
void route_allow(const struct route_table *table, const char *path, struct buffer *methods);
