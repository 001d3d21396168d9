/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/framework/route.h"

#include <string.h>

#include "base/str.h"

static bool path_matches(const struct route *route, const char *path)
{
    return route->flags & ROUTE_PREFIX ? str_starts_with(path, route->path)
                                       : !strcmp(path, route->path);
}

static bool method_matches(const struct route *route, const char *method)
{
    return !strcmp(route->method, method) ||
           (!strcmp(route->method, "GET") && !strcmp(method, "HEAD"));
}

void route_allow(const struct route_table *table, const char *path, struct buffer *methods)
{
    for (size_t i = 0; i < table->count; i++)
        if (path_matches(&table->rows[i], path))
            buffer_printf(methods, "%s%s%s", methods->size ? ", " : "", table->rows[i].method,
                          strcmp(table->rows[i].method, "GET") ? "" : ", HEAD");
}

const struct route *route_find(const struct route_table *table, const char *method,
                               const char *path, bool *path_known)
{
    *path_known = false;
    for (size_t i = 0; i < table->count; i++) {
        if (!path_matches(&table->rows[i], path))
            continue;
        if (method_matches(&table->rows[i], method))
            return &table->rows[i];
        *path_known = true;
    }
    return NULL;
}
