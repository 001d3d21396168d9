/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "gate/token.h"

#include <string.h>

#include "base/mem.h"
#include "base/str.h"

#define TOKEN_MAX 256

char *token_of_query(const struct http_request *request)
{
    const char *query = http_parameter(request, "SANDLOT_QUERY");
    for (size_t pair; query && *query; query += pair + (query[pair] == '&')) {
        pair = strcspn(query, "&");
        size_t name = sizeof GATE_QUERY_TOKEN;
        if (pair > name && pair - name <= TOKEN_MAX && !strncmp(query, GATE_QUERY_TOKEN "=", name))
            return xstrndup(query + name, pair - name);
    }
    return NULL;
}

static char *bearer_token(const struct http_request *request)
{
    const char *value = http_header(request, "Authorization");
    if (!value || strncasecmp(value, "Bearer ", 7))
        return NULL;
    return xstrndup(value + 7 + strspn(value + 7, " "), TOKEN_MAX);
}

static char *parameter_token(const char *value)
{
    return value ? xstrndup(value, TOKEN_MAX) : NULL;
}

char *token_given(const struct http_request *request, bool is_preview)
{
    char *token = parameter_token(http_header(request, "X-Access-Token"));
    if (!token && is_preview)
        token = token_of_query(request);
    if (!token && !is_preview)
        token = bearer_token(request);
    return token;
}

char *token_of_cookie(const struct http_request *request)
{
    return http_header(request, "X-Access-Token")
               ? NULL
               : parameter_token(http_parameter(request, "SANDLOT_COOKIE_TOKEN"));
}

char *token_of_link(const struct http_request *request)
{
    const char *method = http_parameter(request, "SANDLOT_METHOD");
    if (http_parameter(request, "SANDLOT_UPGRADE") || http_parameter(request, "SANDLOT_POLL"))
        return NULL;
    if (!str_equal(method, "GET") && !str_equal(method, "HEAD"))
        return NULL;
    return token_of_query(request);
}

bool token_is_too_long(const struct http_request *request, bool is_preview)
{
    const char *const values[] = {
        http_header(request, "X-Access-Token"),
        http_parameter(request, is_preview ? "SANDLOT_COOKIE_TOKEN" : "SANDLOT_METHOD"),
        is_preview ? NULL : http_header(request, "Authorization"),
    };
    for (size_t i = 0; i < ARRAY_SIZE(values); i++)
        if (values[i] && strlen(values[i]) > TOKEN_MAX)
            return true;
    return false;
}
