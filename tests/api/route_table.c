/* SPDX-License-Identifier: GPL-2.0-or-later */
/* route_table [e2b]: prints the route table of the API, or of the calls for E2B's clients, as JSON,
 * for tests that must not miss a new route. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include "api/api.h"
#include "api/e2b/e2b.h"
#include "endpoint/endpoint.h"

static json_t *names_of_body(const struct schema_member *members)
{
    json_t *names = json_array();
    for (; members && members->name; members++)
        if (!members->hint)
            json_array_append_new(names, json_string(members->name));
    return names;
}

static json_t *names_of_query(const struct route_query *query)
{
    json_t *names = json_array();
    for (; query && query->name; query++)
        json_array_append_new(names, json_string(query->name));
    return names;
}

int main(int argc, char **argv)
{
    (void)argv;
    static const char *const scopes[] = {
        [ROUTE_PUBLIC] = "public", [ROUTE_READ] = "read", [ROUTE_WRITE] = "write"};
    json_auto_t *routes = json_array();
    const struct router router = argc > 1 ? e2b_router(NULL) : api_router(NULL);
    for (size_t i = 0; i < router.count; i++) {
        const struct route *route = &router.routes[i];
        json_array_append_new(
            routes,
            json_pack("{s:s, s:s, s:s, s:s, s:b, s:b, s:b, s:o, s:o}", "method", route->method,
                      "pattern", route->pattern, "operation", route->operation, "scope",
                      scopes[route->scope], "session", route->subject == SUBJECT_LOGIN, "served",
                      route->handler != NULL, "idempotent", route->idempotency != IDEMPOTENCY_NONE,
                      "body", names_of_body(route->body), "query", names_of_query(route->query)));
    }
    return json_dumpf(routes, stdout, JSON_INDENT(1)) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
