/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A request as it comes out of FastCGI, through router, query, body and schema to the formatted
 * answer. Input: method, request target, content type, each ended by a line feed, then the body.
 */
#include <assert.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "http/router.h"

#define INPUT_MAX 65536
#define BODY_MAX  8192

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int answer(void *context, struct http_request *request, struct http_response *response,
                  struct error **err)
{
    (void)context;
    (void)err;
    json_t *query = json_object();
    /* What the handler gets is UTF-8 without NUL, or jansson would refuse it here; a route that
     * takes bytes is told which of them are no text. */
    for (size_t i = 0; i < request->query_count; i++) {
        const struct http_parameter *one = &request->query[i];
        if (!one->name_is_text || !one->value_is_text) {
            assert(str_starts_with(one->name, "query[metadata]["));
            continue;
        }
        json_t *value = json_string(one->value);
        assert(value && !json_object_set_new(query, one->name, value));
    }
    assert(!request->capture_count ||
           json_object_set_new(query, ":", json_string(request->captures[0])) == 0);
    return http_response_json(response, 200,
                              json_pack("{s:s, s:o, s:O?}", "operation", request->operation,
                                        "query", query, "body", request->json));
}

static const char *const on_timeout[] = {"kill", "pause", NULL};
static const struct schema_member lifecycle[] = {
    {.name = "on_timeout", .type = SCHEMA_STRING, .choices = on_timeout},
    {.name = "auto_resume", .type = SCHEMA_BOOLEAN},
    {.name = NULL},
};
static const struct schema_member value = {.type = SCHEMA_STRING, .min = 1, .max = 16};
static const struct schema_member port[] = {
    {.name = "port", .type = SCHEMA_INTEGER, .required = true, .min = 1, .max = 65535},
    {.name = NULL},
};
static const struct schema_member port_item = {.type = SCHEMA_OBJECT, .members = port};
static const struct schema_member body[] = {
    {.name = "timeout", .type = SCHEMA_INTEGER, .min = 1, .max = 86400},
    {.name = "lifecycle", .type = SCHEMA_OBJECT, .members = lifecycle},
    {.name = "metadata", .type = SCHEMA_MAP, .item = &value, .max = 4, .nullable = true},
    {.name = "exposed_ports", .type = SCHEMA_ARRAY, .item = &port_item, .max = 3},
    {.name = "anything", .type = SCHEMA_ANY},
    {.name = NULL},
};
static const struct route_query query[] = {
    {.name = "team"},
    {.name = "query[state][]", .repeatable = true},
    {.name = "query[metadata][*]", .repeatable = true, .bytes = true},
    {.name = NULL},
};
static const struct route routes[] = {
    {.method = "GET", .pattern = "/v1/s", .operation = "list", .handler = answer, .query = query},
    {.method = "POST", .pattern = "/v1/s", .operation = "create", .handler = answer, .body = body},
    {.method = "GET", .pattern = "/v1/s/:id", .operation = "show", .handler = answer},
    {.method = "PUT",
     .pattern = "/v1/s/:id/ports/:port",
     .operation = "put",
     .handler = answer,
     .body = body},
};
static const struct router router = {.routes = routes, .count = ARRAY_SIZE(routes)};

/* "NAME=" and the input up to a line feed, which is taken off; NUL ends a parameter early. */
static char *next_line(const char *name, const uint8_t **data, size_t *size)
{
    const uint8_t *end = memchr(*data, '\n', *size);
    size_t length = end ? (size_t)(end - *data) : *size;
    autofree char *text = xstrndup((const char *)*data, length);
    *data += length + (end != NULL);
    *size -= length + (end != NULL);
    return xasprintf("%s=%s", name, text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > INPUT_MAX)
        return 0;
    struct http_request request;
    struct http_response response;
    buffer_auto out = BUFFER_INIT(1u << 20);
    autofree char *method = next_line("REQUEST_METHOD", &data, &size);
    autofree char *target = next_line("REQUEST_URI", &data, &size);
    autofree char *type = next_line("CONTENT_TYPE", &data, &size);
    const char *mark = strchr(target, '?');
    autofree char *query_string = xasprintf("QUERY_STRING=%s", mark ? mark + 1 : "");
    char *parameters[] = {method, target, type, query_string, NULL};

    http_request_init(&request, parameters, BODY_MAX);
    request.body_too_large = buffer_append(&request.body, data, size) < 0;
    http_response_init(&response);
    router_serve(&router, &request, &response);
    http_response_format(&response, &request, &out);
    assert(!buffer_overflowed(&out) && str_is_utf8(out.data, out.size));
    assert(response.status != 500);
    http_response_deinit(&response);
    http_request_deinit(&request);
    return 0;
}
