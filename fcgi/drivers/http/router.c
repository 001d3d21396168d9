/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "http/router.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/media_type.h"
#include "base/mem.h"
#include "base/str.h"

#define SEGMENT_BYTES_MAX 512 /* of one captured segment, still encoded */
#define ALLOW_MAX         128
#define NAMES_MAX         64
#define NAME_SHOWN_MAX    80 /* bytes of a parameter's name that an error repeats */

struct segment {
    const char *text;
    size_t size;
};

/* The next segment of *path, which stands at a '/'; false at the end. */
static bool next_segment(const char **path, struct segment *segment)
{
    if (**path != '/')
        return false;
    segment->text = *path + 1;
    segment->size = strcspn(segment->text, "/");
    *path = segment->text + segment->size;
    return true;
}

static bool segment_equals(struct segment segment, const char *text, size_t size)
{
    return segment.size == size && !memcmp(segment.text, text, size);
}

static bool segment_is_capture(struct segment segment)
{
    return segment.size && segment.text[0] == ':';
}

static size_t segment_length(const char *text)
{
    const char *end = strchr(text, '/');
    return end ? (size_t)(end - text) : strlen(text);
}

static bool segment_ends(const char *at)
{
    return !*at || *at == '/';
}

/* Moves both behind their segments; false: they differ. Most patterns differ from a path in a few
 * bytes, and all are compared with each request. */
static bool segments_match(const char **pattern, const char **path, bool *literal)
{
    *literal = **pattern != ':';
    if (!*literal) {
        size_t size = segment_length(*path);
        *pattern += segment_length(*pattern);
        *path += size;
        return size && size <= SEGMENT_BYTES_MAX;
    }
    while (!segment_ends(*pattern) && **pattern == **path) {
        ++*pattern;
        ++*path;
    }
    return segment_ends(*pattern) && segment_ends(*path);
}

/* Whether the path has the pattern's form. *weight: one bit a segment, set for a literal one, the
 * first segment highest, so that the larger weight is the more specific pattern. */
static bool pattern_matches(const char *pattern, const char *path, unsigned *weight)
{
    *weight = 0;
    while (*pattern == '/' && *path == '/') {
        bool literal;
        pattern++;
        path++;
        if (!segments_match(&pattern, &path, &literal))
            return false;
        *weight = *weight << 1 | literal;
    }
    return !*pattern && !*path;
}

static bool method_matches(const struct route *route, const char *method)
{
    return !strcmp(route->method, method) ||
           (!strcmp(method, "HEAD") && !strcmp(route->method, "GET"));
}

static const struct route *find_route(const struct router *router, const char *method,
                                      const char *path)
{
    const struct route *best = NULL;
    unsigned best_weight = 0, weight;
    for (size_t i = 0; i < router->count; i++) {
        const struct route *route = &router->routes[i];
        if (!method_matches(route, method) || !pattern_matches(route->pattern, path, &weight))
            continue;
        if (!best || weight > best_weight) {
            best = route;
            best_weight = weight;
        }
    }
    return best;
}

/* The methods of all routes with the path, or NULL without one. */
static char *allowed_methods(const struct router *router, const char *path)
{
    static const char *const order[] = {"GET", "POST", "PUT", "PATCH", "DELETE"};
    buffer_auto allow = BUFFER_INIT(ALLOW_MAX);
    for (size_t i = 0; i < ARRAY_SIZE(order); i++) {
        if (!find_route(router, order[i], path))
            continue;
        buffer_printf(&allow, "%s%s", allow.size ? ", " : "", order[i]);
        if (i == 0)
            buffer_append_string(&allow, ", HEAD");
    }
    return allow.size ? buffer_steal(&allow) : NULL;
}

static int not_found(struct error **err)
{
    return error_set(err, ERR_NOT_FOUND, "no resource has this path");
}

static int take_captures(const struct route *route, struct http_request *request,
                         struct error **err)
{
    const char *pattern = route->pattern, *path = request->path;
    struct segment expected, given;
    while (next_segment(&pattern, &expected) && next_segment(&path, &given)) {
        if (!segment_is_capture(expected))
            continue;
        char **out = &request->captures[request->capture_count];
        if (request->capture_count == HTTP_SEGMENT_MAX ||
            http_percent_decode(given.text, given.size, false, out) < 0)
            return not_found(err);
        request->capture_count++;
    }
    return 0;
}

/* Errors: ERR_NOT_FOUND, ERR_METHOD_NOT_ALLOWED with the allowed methods ("GET, HEAD, DELETE") in
 * *allow (owned by the caller, NULL otherwise). */
static int match(const struct router *router, struct http_request *request,
                 const struct route **route, char **allow, struct error **err)
{
    *allow = NULL;
    *route = find_route(router, request->method, request->path);
    if (*route)
        return take_captures(*route, request, err);
    *allow = allowed_methods(router, request->path);
    if (!*allow)
        return not_found(err);
    return error_set(err, ERR_METHOD_NOT_ALLOWED, "this path answers to %s only", *allow);
}

/* PHP writes numbers for empty indexes: query[state][0] means query[state][]. */
static void drop_index(const struct route_query *query, struct http_parameter *parameter)
{
    char *open = parameter->name_is_text ? strrchr(parameter->name, '[') : NULL;
    size_t digits = open ? strspn(open + 1, "0123456789") : 0;
    if (!digits || strcmp(open + 1 + digits, "]") != 0)
        return;
    size_t head = (size_t)(open - parameter->name) + 1;
    for (; query && query->name; query++)
        if (query->repeatable && strlen(query->name) == head + 1 && query->name[head] == ']' &&
            !memcmp(query->name, parameter->name, head)) {
            memcpy(open + 1, "]", 2);
            parameter->name_size = head + 1;
        }
}

/* "query[metadata][*]" stands for every name with the text before the star, at least one more byte,
 * and the text after the star. */
static bool query_name_matches(const char *pattern, const struct http_parameter *parameter)
{
    const char *name = parameter->name, *star = strchr(pattern, '*');
    size_t size = parameter->name_size;
    if (!star)
        return segment_equals((struct segment){name, size}, pattern, strlen(pattern));
    size_t head = (size_t)(star - pattern), tail = strlen(star + 1);
    return size > head + tail && !memcmp(name, pattern, head) &&
           !memcmp(name + size - tail, star + 1, tail);
}

/* A name as an error may repeat it. */
static char *shown_name(const struct http_parameter *parameter)
{
    buffer_auto text = BUFFER_INIT(NAME_SHOWN_MAX * 3);
    for (size_t i = 0; i < parameter->name_size && i < NAME_SHOWN_MAX; i++) {
        unsigned char c = (unsigned char)parameter->name[i];
        if (parameter->name_is_text || (c > ' ' && c < 0x7f))
            buffer_append_char(&text, (char)c);
        else
            buffer_printf(&text, "%%%02X", c);
    }
    return buffer_steal(&text);
}

static int unknown_parameter(const struct route *route, const char *name, struct error **err)
{
    const char *names[NAMES_MAX];
    size_t count = 0;
    for (const struct route_query *row = route->query; row && row->name && count < NAMES_MAX; row++)
        names[count++] = row->name;
    const char *nearest = str_nearest(name, names, count);
    if (nearest)
        return error_set_field(err, ERR_INVALID_REQUEST, name,
                               "unknown query parameter \"%s\"; did you mean \"%s\"?", name,
                               nearest);
    return error_set_field(err, ERR_INVALID_REQUEST, name, "unknown query parameter \"%s\"", name);
}

static bool is_repeated(const struct http_request *request, size_t at)
{
    const struct http_parameter *one = &request->query[at], *other = request->query;
    for (; other < one; other++)
        if (segment_equals((struct segment){other->name, other->name_size}, one->name,
                           one->name_size))
            return true;
    return false;
}

/* NULL: the route has no such parameter. */
static const struct route_query *find_query(const struct route *route,
                                            const struct http_parameter *parameter)
{
    for (const struct route_query *row = route->query; row && row->name; row++)
        if (query_name_matches(row->name, parameter))
            return row;
    return NULL;
}

static int check_parameter(const struct router *router, const struct route *route,
                           const struct http_request *request, size_t at, struct error **err)
{
    const struct http_parameter *parameter = &request->query[at];
    const struct route_query *row = find_query(route, parameter);
    autofree char *name = shown_name(parameter);
    if (!row)
        return unknown_parameter(route, name, err);
    if (!row->bytes && !(parameter->name_is_text && parameter->value_is_text))
        return error_set_field(err, ERR_INVALID_REQUEST, name,
                               "query parameter \"%s\" is not percent-encoded UTF-8 without NUL",
                               name);
    if (!row->repeatable && is_repeated(request, at))
        return error_set_field(err, ERR_INVALID_REQUEST, name,
                               "query parameter \"%s\" may be given once only", name);
    if (router->refuse_empty && !row->bytes && !parameter->value_size)
        return error_set_field(err, ERR_INVALID_REQUEST, name,
                               "query parameter \"%s\" has no value; leave it out", name);
    return 0;
}

static void drop_unknown_parameters(const struct route *route, struct http_request *request)
{
    size_t kept = 0;
    for (size_t i = 0; i < request->query_count; i++) {
        if (find_query(route, &request->query[i])) {
            request->query[kept++] = request->query[i];
            continue;
        }
        free(request->query[i].name);
        free(request->query[i].value);
    }
    request->query_count = kept;
}

static int check_query(const struct router *router, const struct route *route,
                       struct http_request *request, struct error **err)
{
    if (http_request_parse_query(request, err) < 0)
        return -1;
    if (router->ignore_unknown)
        drop_unknown_parameters(route, request);
    for (size_t i = 0; i < request->query_count; i++)
        drop_index(route->query, &request->query[i]);
    for (size_t i = 0; i < request->query_count; i++)
        if (check_parameter(router, route, request, i, err) < 0)
            return -1;
    return 0;
}

/* Headers of which a request has one: the service and a proxy could read different ones. */
static const struct {
    const char *name, *parameter;
} single_headers[] = {
    {"Authorization", "HTTP_AUTHORIZATION="},
    {"Content-Encoding", "HTTP_CONTENT_ENCODING="},
    {"Content-Length", "HTTP_CONTENT_LENGTH="},
    {"Content-Type", "HTTP_CONTENT_TYPE="},
    {"Idempotency-Key", "HTTP_IDEMPOTENCY_KEY="},
    {"If-Match", "HTTP_IF_MATCH="},
    {"If-None-Match", "HTTP_IF_NONE_MATCH="},
    {"Last-Event-ID", "HTTP_LAST_EVENT_ID="},
    {"X-API-Key", "HTTP_X_API_KEY="},
};

static int repeated_header(const char *name, struct error **err)
{
    return error_set_field(err, ERR_INVALID_REQUEST, name, "the header %s may be sent once only",
                           name);
}

/* nginx 1.22 passes each line on. Later ones join the values, which then are no valid key, coding
 * or id; of media types CONTENT_TYPE is the first. */
static int check_headers(const struct http_request *request, struct error **err)
{
    const char *type = http_parameter(request, "HTTP_CONTENT_TYPE");
    bool seen[ARRAY_SIZE(single_headers)] = {false};
    for (char **entry = request->parameters; *entry; entry++) {
        if (!str_starts_with(*entry, "HTTP_"))
            continue;
        for (size_t i = 0; i < ARRAY_SIZE(single_headers); i++) {
            if (!str_starts_with(*entry, single_headers[i].parameter))
                continue;
            if (seen[i])
                return repeated_header(single_headers[i].name, err);
            seen[i] = true;
        }
    }
    return type && !str_equal(type, http_header(request, "Content-Type"))
               ? repeated_header("Content-Type", err)
               : 0;
}

/* A client without access must not occupy a worker by sending a body. */
static int take_body(struct http_request *request, struct error **err)
{
    if (!request->take_body || request->take_body(request) == 0)
        return 0;
    if (request->body_too_slow)
        return http_body_too_slow(err);
    return error_set(err, ERR_INVALID_JSON, "The request body was cut off before its end.");
}

static bool is_coded(const struct http_request *request)
{
    const char *coding = http_header(request, "Content-Encoding");
    return coding && *coding && strcasecmp(coding, "identity") != 0;
}

/* A PATCH may be sent as a merge patch, which it is (RFC 7396). */
static int check_media_type(const struct http_request *request, struct error **err)
{
    bool patches = !strcmp(request->method, "PATCH");
    if (!http_content_is(request, "application/json") &&
        !(patches && http_content_is(request, "application/merge-patch+json")))
        return error_set(err, ERR_UNSUPPORTED_MEDIA_TYPE,
                         "a request body must be sent as Content-Type: application/json%s",
                         patches ? " or application/merge-patch+json" : "");
    if (!media_type_is_utf8(http_header(request, "Content-Type")))
        return error_set(err, ERR_UNSUPPORTED_MEDIA_TYPE,
                         "a request body must be sent in UTF-8, and not in another charset");
    return 0;
}

/* Parse the body into request->json, without a look at its members. */
static int read_body(const struct router *router, const struct route *route,
                     struct http_request *request, struct error **err)
{
    size_t max = request->body.max;
    if (!request->body.size && !request->read_body)
        return 0;
    if (is_coded(request))
        return error_set(err, ERR_UNSUPPORTED_MEDIA_TYPE,
                         "send the request body without a Content-Encoding");
    if (request->read_body)
        return 0;
    if (check_media_type(request, err) < 0)
        return -1;
    if (router->body_max && router->body_max < max)
        max = router->body_max;
    if (request->body_too_large || request->body.size > max)
        return error_set(err, ERR_BODY_TOO_LARGE, "the request body is larger than %zu bytes", max);
    if (schema_parse(route->body, buffer_string(&request->body), request->body.size, &request->json,
                     err) < 0)
        return -1;
    /* Clients that have no body send null too. */
    if (json_is_null(request->json)) {
        json_decref(request->json);
        request->json = NULL;
    }
    return 0;
}

/* Null in a merge patch removes a member (RFC 7396). One that always has a value cannot be removed,
 * so its schema refuses null. E2B's PATCH is no merge patch. */
static bool is_merge_patch(const struct router *router, const struct http_request *request)
{
    return !strcmp(request->method, "PATCH") && !router->ignore_unknown;
}

static int check_body(const struct router *router, const struct route *route,
                      struct http_request *request, struct error **err)
{
    static const struct schema_member no_members[] = {{.name = NULL}};
    const struct schema_member *members = route->body ? route->body : no_members;
    if (request->json && router->ignore_unknown)
        schema_drop_unknown(members, request->json);
    if (request->json && !is_merge_patch(router, request))
        schema_drop_nulls(members, request->json);
    if (request->json) {
        schema_read_empty_maps(members, request->json);
        return schema_validate(members, request->json, err);
    }
    if (route->body_required && !request->read_body)
        return error_set_field(err, ERR_INVALID_REQUEST, "",
                               "this request needs a body: a JSON object");
    return 0;
}

static int serve_route(const struct router *router, const struct route *route,
                       struct http_request *request, struct http_response *response,
                       struct error **err)
{
    if (check_headers(request, err) < 0)
        return -1;
    if (route->scope != ROUTE_PUBLIC && router->authorize &&
        router->authorize(router->context, route, request, err) < 0)
        return -1;
    if (take_body(request, err) < 0 || read_body(router, route, request, err) < 0 ||
        check_query(router, route, request, err) < 0 || check_body(router, route, request, err) < 0)
        return -1;
    return router->invoke ? router->invoke(router->context, route, request, response, err)
                          : route->handler(router->context, request, response, err);
}

size_t router_body_max(const struct router *router, const struct http_request *request,
                       size_t usual)
{
    const struct route *route = find_route(router, request->method, request->path);
    if (route && route->upload &&
        (http_content_is(request, "application/octet-stream") ||
         (route->any_type && !http_header(request, "Content-Type"))))
        return HTTP_BODY_LEFT;
    return route && route->body_max ? route->body_max : usual;
}

void router_serve(const struct router *router, struct http_request *request,
                  struct http_response *response)
{
    const struct route *route = NULL;
    autofree char *allow = NULL;
    error_auto err = NULL;
    if (match(router, request, &route, &allow, &err) == 0 && route) {
        request->operation = route->operation;
        if (serve_route(router, route, request, response, &err) == 0)
            return;
    }
    http_response_error(response, request, err);
    if (allow)
        http_response_header(response, "Allow", "%s", allow);
    if (err->code == ERR_UNSUPPORTED_MEDIA_TYPE && is_coded(request))
        http_response_header(response, "Accept-Encoding", "identity");
}
