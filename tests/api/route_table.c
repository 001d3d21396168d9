/* SPDX-License-Identifier: GPL-2.0-or-later */
/* route_table [e2b]: prints the route table of the API, or of the calls for E2B's clients, as JSON,
 * for tests that must not miss a new route. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include "api/api.h"
#include "api/e2b/e2b.h"
#include "endpoint/endpoint.h"

static json_t *rule_of(const struct schema_member *rule);

static json_t *rules_of(const struct schema_member *members)
{
    json_t *rules = json_object();
    for (; members && members->name; members++)
        if (!members->hint)
            json_object_set_new(rules, members->name, rule_of(members));
    return rules;
}

static json_t *choices_of(const struct schema_member *rule)
{
    json_t *choices = json_array();
    for (const char *const *choice = rule->choices; *choice; choice++)
        json_array_append_new(choices, json_string(*choice));
    return choices;
}

/* Print the rule of a member; without bounds, "min" and "max" are missing. */
static json_t *rule_of(const struct schema_member *rule)
{
    static const char *const types[] = {
        [SCHEMA_STRING] = "string", [SCHEMA_INTEGER] = "integer", [SCHEMA_BOOLEAN] = "boolean",
        [SCHEMA_OBJECT] = "object", [SCHEMA_ARRAY] = "array",     [SCHEMA_MAP] = "map",
        [SCHEMA_ANY] = "any"};
    json_t *of =
        json_pack("{s:s, s:b, s:b, s:b}", "type", types[rule->type], "required", rule->required,
                  "nullable", rule->nullable, "checked", rule->check != NULL);
    if (rule->min || rule->max)
        json_object_update_new(of, json_pack("{s:I, s:I}", "min", (json_int_t)rule->min, "max",
                                             (json_int_t)rule->max));
    if (rule->characters)
        json_object_set_new(of, "counts", json_string("characters"));
    if (rule->choices)
        json_object_set_new(of, "choices", choices_of(rule));
    if (rule->members)
        json_object_set_new(of, "members", rules_of(rule->members));
    if (rule->item)
        json_object_set_new(of, "item", rule_of(rule->item));
    return of;
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
            json_pack("{s:s, s:s, s:s, s:s, s:b, s:b, s:b, s:b, s:o, s:o}", "method", route->method,
                      "pattern", route->pattern, "operation", route->operation, "scope",
                      scopes[route->scope], "session", route->subject == SUBJECT_LOGIN, "served",
                      route->handler != NULL, "idempotent", route->idempotency != IDEMPOTENCY_NONE,
                      "body_required", route->body_required, "body", rules_of(route->body), "query",
                      names_of_query(route->query)));
    }
    return json_dumpf(routes, stdout, JSON_INDENT(1)) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
