/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Route requests by a table. A row describes an endpoint completely, except for its handler. */
#pragma once

#include "http/http.h"
#include "http/schema.h"

enum route_scope { ROUTE_PUBLIC, ROUTE_READ, ROUTE_WRITE };

/* The effect of an Idempotency-Key, and the form of a repeated answer. */
enum route_idempotency { IDEMPOTENCY_NONE, IDEMPOTENCY_PLAIN, IDEMPOTENCY_SESSION };

struct route_query {
    const char *name; /* ended by a row without a name; "query[metadata][*]" matches by prefix */
    bool repeatable;
    bool bytes; /* the text for the star and the value may be any bytes, or empty */
};

typedef int route_handler(void *context, struct http_request *request,
                          struct http_response *response, struct error **err);

/* Read the revision of access rights, and the rows for the handler in the same statement. context
 * is the same as the handler's. */
typedef int route_look_ahead(void *context, const struct http_request *request, uint64_t *revision,
                             struct error **err);

struct route {
    const char *method;
    const char *pattern;   /* "/v1/sandboxes/:id/pause": captures[0] is :id */
    const char *operation; /* OpenAPI operation id and log name: "pauseSandbox" */
    route_handler *handler;
    int pool, subject; /* for the program's own tables: its handler and its subject */
    enum route_scope scope;
    const struct schema_member *body; /* NULL: no body is accepted (an empty one, or {} is) */
    bool body_required;               /* a request without a body is refused */
    bool upload;     /* the handler reads a body of application/octet-stream itself, of any size */
    bool any_type;   /* the handler also reads a body without a media type */
    size_t body_max; /* bytes of other bodies; 0: as for other routes */
    const struct route_query *query; /* NULL: no query parameter is accepted */
    enum route_idempotency idempotency;
    bool has_etag;          /* of a GET: it shows a record that other methods of the path change */
    const char *whole_list; /* of a GET whose handler answers all rows: the member with the rows,
                             * which is cut into pages */
    route_look_ahead *look_ahead; /* NULL: nothing is read before access is confirmed */
    bool keeps_answers; /* of a GET: the handler keeps answers, and sends one again while the
                         * record's version is the same */
};

struct router {
    const struct route *routes; /* in any order: a literal segment goes before a capture */
    size_t count;
    size_t body_max; /* bytes, when less than the server's; 0: the server's */
    /* Unknown query parameters and members of bodies are removed, not refused. */
    bool ignore_unknown;
    bool refuse_empty; /* a query parameter without a value, except of bytes */
    /* Called before the handler for every route that is not ROUTE_PUBLIC: authentication and
     * scope. context is the same as the handler's. */
    int (*authorize)(void *context, const struct route *route, struct http_request *request,
                     struct error **err);
    /* Called in place of the handler, which it calls itself; NULL: the handler is called. */
    int (*invoke)(void *context, const struct route *route, struct http_request *request,
                  struct http_response *response, struct error **err);
    void *context;
};

/* Return the most bytes of a body to read before the request is served. usual: the limit of most
 * requests. HTTP_BODY_LEFT: the handler reads the body. */
size_t router_body_max(const struct router *router, const struct http_request *request,
                       size_t usual);

/* Find the route, authorise the client, check query and body, run the handler, and answer an error.
 * HEAD is served as GET. Captures are percent-decoded into request->captures. A segment that is
 * empty, too long, holds NUL or is not UTF-8 matches no capture.
 *
 * Order of refusals: 404/405, a header that comes twice, 401/403, 415/413/400, 422. A body without
 * a byte counts as none: request->json is NULL then, and required members only count when
 * body_required is set. */
void router_serve(const struct router *router, struct http_request *request,
                  struct http_response *response);
