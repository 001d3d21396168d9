/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit/unit.h"

#include "base/mem.h"
#include "http/router.h"

static bool is_authorized;

static int authorize(void *context, const struct route *route, struct http_request *request,
                     struct error **err)
{
    (void)context;
    (void)route;
    (void)request;
    return is_authorized ? 0 : error_set(err, ERR_UNAUTHORIZED, "no key");
}

static int answer(void *context, struct http_request *request, struct http_response *response,
                  struct error **err)
{
    (void)context;
    if (request->capture_count && !strcmp(request->captures[0], "broken"))
        return error_set(err, ERR_INTERNAL, "broken");
    return http_response_json(response, 200,
                              json_pack("{s:s, s:s?, s:O?}", "operation", request->operation,
                                        "capture", request->captures[0], "body", request->json));
}

static const struct schema_member body[] = {
    {.name = "timeout", .type = SCHEMA_INTEGER, .min = 1, .max = 9},
    {.name = NULL},
};
static const struct schema_member inner_members[] = {
    {.name = "must", .type = SCHEMA_INTEGER, .required = true},
    {.name = "may", .type = SCHEMA_STRING, .min = 1},
    {.name = NULL},
};
static const struct schema_member inner_item = {.type = SCHEMA_OBJECT, .members = inner_members};
static const struct schema_member text_item = {.type = SCHEMA_STRING};
static const struct schema_member nullable_body[] = {
    {.name = "timeout", .type = SCHEMA_INTEGER, .min = 1, .max = 9},
    {.name = "proxy", .type = SCHEMA_OBJECT, .nullable = true, .members = inner_members},
    {.name = "list", .type = SCHEMA_ARRAY, .item = &inner_item},
    {.name = "map", .type = SCHEMA_MAP, .item = &text_item},
    {.name = "old", .hint = "it has another name"},
    {.name = NULL},
};
static const struct route_query list_query[] = {
    {"team", false, false},
    {"query[state][]", true, false},
    {"query[metadata][*]", true, true},
    {NULL, false, false},
};

/* Captures stand before literals on purpose. */
static const struct route routes[] = {
    {.method = "GET",
     .pattern = "/v1/things/:id",
     .operation = "show",
     .handler = answer,
     .scope = ROUTE_READ},
    {.method = "DELETE",
     .pattern = "/v1/things/:id",
     .operation = "delete",
     .handler = answer,
     .scope = ROUTE_WRITE},
    {.method = "GET",
     .pattern = "/v1/things/limits",
     .operation = "limits",
     .handler = answer,
     .scope = ROUTE_READ},
    {.method = "GET",
     .pattern = "/v1/things",
     .operation = "list",
     .handler = answer,
     .scope = ROUTE_READ,
     .query = list_query},
    {.method = "POST",
     .pattern = "/v1/things",
     .operation = "create",
     .handler = answer,
     .scope = ROUTE_WRITE,
     .body = body,
     .body_required = true},
    {.method = "POST",
     .pattern = "/v1/things/:id/wake",
     .operation = "wake",
     .handler = answer,
     .scope = ROUTE_WRITE,
     .body = body},
    {.method = "PUT",
     .pattern = "/v1/full/:id",
     .operation = "replace",
     .handler = answer,
     .scope = ROUTE_WRITE,
     .body = nullable_body},
    {.method = "PATCH",
     .pattern = "/v1/full/:id",
     .operation = "update",
     .handler = answer,
     .scope = ROUTE_WRITE,
     .body = nullable_body},
    {.method = "GET",
     .pattern = "/v1/public",
     .operation = "public",
     .handler = answer,
     .scope = ROUTE_PUBLIC},
};
static const struct router router = {
    .routes = routes, .count = ARRAY_SIZE(routes), .authorize = authorize, .refuse_empty = true};

struct call {
    const char *method, *uri, *type, *text;
    bool too_large;
    const char *headers[2]; /* "HTTP_NAME=value" */
};

static void serve(struct call call, struct http_response *response)
{
    autofree char *method = xasprintf("REQUEST_METHOD=%s", call.method);
    autofree char *uri = xasprintf("REQUEST_URI=%s", call.uri);
    const char *query_at = strchr(call.uri, '?');
    autofree char *query = xasprintf("QUERY_STRING=%s", query_at ? query_at + 1 : "");
    autofree char *type = xasprintf("CONTENT_TYPE=%s", call.type ? call.type : "");
    char *parameters[] = {
        method, uri, query, type, (char *)call.headers[0], (char *)call.headers[1], NULL};
    struct http_request request;
    http_request_init(&request, parameters, 100);
    if (call.text)
        buffer_append_string(&request.body, call.text);
    request.body_too_large = call.too_large;
    http_response_init(response);
    router_serve(&router, &request, response);
    http_request_deinit(&request);
}

static const char *member(const struct http_response *response, const char *name)
{
    return json_string_value(json_object_get(response->json, name));
}

static void assert_runs(struct call call, const char *operation, const char *capture)
{
    struct http_response response;
    serve(call, &response);
    assert_int_equal(response.status, 200);
    assert_string_equal(member(&response, "operation"), operation);
    if (capture)
        assert_string_equal(member(&response, "capture"), capture);
    http_response_deinit(&response);
}

static void assert_refused(struct call call, int status, const char *code, const char *field)
{
    struct http_response response;
    serve(call, &response);
    assert_int_equal(response.status, status);
    assert_string_equal(member(&response, "error"), code);
    if (field)
        assert_string_equal(member(&response, "field"), field);
    http_response_deinit(&response);
}

#define CALL(method_, uri_) ((struct call){.method = (method_), .uri = (uri_)})
#define SEND(method_, uri_, type_, text_) \
    ((struct call){.method = (method_), .uri = (uri_), .type = (type_), .text = (text_)})
#define SEND_TOO_MUCH(method_, uri_, type_, text_) \
    ((struct call){                                \
        .method = (method_), .uri = (uri_), .type = (type_), .text = (text_), .too_large = true})
#define JSON "application/json"

TEST(test_matches)
{
    is_authorized = true;
    assert_runs(CALL("GET", "/v1/things/x"), "show", "x");
    assert_runs(CALL("HEAD", "/v1/things/x"), "show", "x");
    assert_runs(CALL("GET", "/v1/things/a%2Fb%20+"), "show", "a/b +");
    assert_runs(CALL("GET", "/v1/things/limits"), "limits", NULL);
    /* With an escape that it does not need, a path is the same (RFC 3986, section 6.2.2.2). */
    assert_runs(CALL("GET", "/%761/things/%6c%69mits"), "limits", NULL);
    assert_runs(CALL("GET", "/v1/things/%7Ex%2f%41"), "show", "~x/A");
    /* The literal row has no DELETE; the capture has. */
    assert_runs(CALL("DELETE", "/v1/things/limits"), "delete", "limits");
    assert_runs(CALL("POST", "/v1/things/x/wake"), "wake", "x");
    assert_runs(CALL("GET", "/v1/things?team=a&query[state][]=x&query%5Bstate%5D%5B%5D=y&"
                            "query[metadata][k]=v"),
                "list", NULL);
}

TEST(test_paths_that_are_none)
{
    static const char *const paths[] = {
        "/",
        "",
        "/v1",
        "/v1/things/",
        "/v1//things",
        "/v1/things/x/",
        "/v1/Things",
        "//v1/things",
        "/v1/things/%zz",
        "/v1/things/%00",
        "/v1/things/%ff",
        "/v1/things/x/wake/y",
        "*",
    };
    is_authorized = false;
    for (size_t i = 0; i < ARRAY_SIZE(paths); i++)
        assert_refused(CALL("GET", paths[i]), 404, "not_found", NULL);
    char longest[4000] = "/v1/things/";
    memset(longest + 11, 'x', sizeof longest - 12);
    longest[sizeof longest - 1] = '\0';
    assert_refused(CALL("GET", longest), 404, "not_found", NULL);
    memset(longest, '/', sizeof longest - 1);
    assert_refused(CALL("GET", longest), 404, "not_found", NULL);
}

TEST(test_wrong_methods)
{
    struct http_response response;
    is_authorized = false;
    serve(CALL("PATCH", "/v1/things/limits"), &response);
    assert_int_equal(response.status, 405);
    assert_string_equal(buffer_string(&response.headers), "Allow: GET, HEAD, DELETE\r\n");
    http_response_deinit(&response);
    serve(CALL("get", "/v1/things"), &response);
    assert_string_equal(buffer_string(&response.headers), "Allow: GET, HEAD, POST\r\n");
    http_response_deinit(&response);
}

/* 404/405, 401, 415, 413, 400, 422 */
TEST(test_order_of_refusals)
{
    is_authorized = false;
    assert_refused(SEND_TOO_MUCH("GET", "/v1/none?x=%", "a/b", "{"), 404, "not_found", NULL);
    assert_refused(SEND_TOO_MUCH("POST", "/v1/things?x=%", "a/b", "{"), 401, "unauthorized", NULL);
    assert_runs(CALL("GET", "/v1/public"), "public", NULL);
    is_authorized = true;
    assert_refused(SEND_TOO_MUCH("POST", "/v1/things?x=%", "a/b", "{"), 415,
                   "unsupported_media_type", NULL);
    assert_refused(SEND_TOO_MUCH("POST", "/v1/things?x=%", JSON, "{"), 413, "body_too_large", NULL);
    assert_refused(SEND("POST", "/v1/things?x=%", JSON, "{"), 400, "invalid_json", NULL);
    assert_refused(SEND("POST", "/v1/things?x=%", JSON, "{\"timeout\":0}"), 422, "invalid_request",
                   "x");
    assert_refused(SEND("POST", "/v1/things", JSON, "{\"timeout\":0}"), 422, "invalid_request",
                   "/timeout");
    assert_refused(CALL("GET", "/v1/things/broken"), 500, "internal", NULL);
}

TEST(test_bodies)
{
    is_authorized = true;
    assert_runs(SEND("POST", "/v1/things", JSON, "{\"timeout\":1}"), "create", NULL);
    assert_runs(SEND("POST", "/v1/things", "Application/JSON ; charset=utf-8", "{}"), "create",
                NULL);
    assert_refused(CALL("POST", "/v1/things"), 422, "invalid_request", "");
    assert_refused(SEND("POST", "/v1/things", JSON, ""), 422, "invalid_request", "");
    assert_refused(SEND("POST", "/v1/things", "application/jsonx", "{}"), 415,
                   "unsupported_media_type", NULL);
    assert_refused(SEND("POST", "/v1/things", NULL, "{}"), 415, "unsupported_media_type", NULL);
    assert_runs(SEND("POST", "/v1/things/x/wake", "a/b", ""), "wake", NULL);
    /* A route without a body takes an empty object at most. */
    assert_runs(SEND("DELETE", "/v1/things/x", JSON, "{}"), "delete", NULL);
    assert_refused(SEND("DELETE", "/v1/things/x", JSON, "{\"a\":1}"), 422, "invalid_request", "/a");
    /* PHP writes [] for one. */
    assert_runs(SEND("DELETE", "/v1/things/x", JSON, "[]"), "delete", NULL);
    assert_refused(SEND("DELETE", "/v1/things/x", JSON, "[1]"), 422, "invalid_request", "");
}

static void assert_reads(const char *method, const char *text, const char *read)
{
    struct http_response response;
    json_auto_t *wanted = json_loads(read, JSON_DECODE_ANY, NULL);
    serve(SEND(method, "/v1/full/x", JSON, text), &response);
    assert_int_equal(response.status, 200);
    json_t *got = json_object_get(response.json, "body");
    assert_true(json_equal(got, wanted));
    http_response_deinit(&response);
}

/* A client that writes every member of an object sends null for those without a value. */
TEST(test_nulls)
{
    is_authorized = true;
    assert_reads("PUT", "{\"timeout\":null,\"list\":null,\"map\":null}", "{}");
    assert_reads("PUT", "{\"list\":[{\"must\":1,\"may\":null}]}", "{\"list\":[{\"must\":1}]}");
    assert_reads("PUT", "{\"proxy\":null}", "{\"proxy\":null}");
    assert_reads("PUT", "{\"proxy\":{\"must\":1,\"may\":null}}", "{\"proxy\":{\"must\":1}}");
    assert_refused(SEND("PUT", "/v1/full/x", JSON, "{\"list\":[{\"must\":null}]}"), 422,
                   "invalid_request", "/list/0/must");
    /* An entry is no member, and a name that is unknown stays unknown. */
    assert_refused(SEND("PUT", "/v1/full/x", JSON, "{\"map\":{\"a\":null}}"), 422,
                   "invalid_request", "/map/a");
    assert_refused(SEND("PUT", "/v1/full/x", JSON, "{\"list\":[null]}"), 422, "invalid_request",
                   "/list/0");
    assert_refused(SEND("PUT", "/v1/full/x", JSON, "{\"timeot\":null}"), 422, "invalid_request",
                   "/timeot");
    assert_refused(SEND("PUT", "/v1/full/x", JSON, "{\"old\":null}"), 422, "invalid_request",
                   "/old");
    /* A body that is null counts as a missing body. */
    assert_reads("PUT", "null", "null");
    assert_refused(SEND("POST", "/v1/things", JSON, "null"), 422, "invalid_request", "");
}

/* In a merge patch, null removes a member. A member that always has a value cannot be removed. */
TEST(test_nulls_of_a_merge_patch)
{
    is_authorized = true;
    assert_reads("PATCH", "{\"proxy\":null}", "{\"proxy\":null}");
    assert_refused(SEND("PATCH", "/v1/full/x", JSON, "{\"timeout\":null}"), 422, "invalid_request",
                   "/timeout");
}

TEST(test_queries)
{
    struct http_response response;
    is_authorized = true;
    serve(CALL("GET", "/v1/things?taem=a"), &response);
    assert_int_equal(response.status, 422);
    assert_string_equal(member(&response, "message"),
                        "unknown query parameter \"taem\"; did you mean \"team\"?");
    http_response_deinit(&response);
    assert_refused(CALL("GET", "/v1/things?team=a&team=b"), 422, "invalid_request", "team");
    assert_refused(CALL("GET", "/v1/things?query[metadata][]=b"), 422, "invalid_request",
                   "query[metadata][]");
    assert_refused(CALL("GET", "/v1/things?query[metadata][k=b"), 422, "invalid_request", NULL);
    assert_refused(CALL("GET", "/v1/things/x?team=a"), 422, "invalid_request", "team");
    assert_refused(CALL("GET", "/v1/things?team="), 422, "invalid_request", "team");
    assert_refused(CALL("GET", "/v1/things?team"), 422, "invalid_request", "team");
    assert_runs(CALL("GET", "/v1/things?query[metadata][k]="), "list", NULL);
    assert_refused(CALL("GET", "/v1/things?team=%ff"), 422, "invalid_request", "team");
    assert_refused(CALL("GET", "/v1/things?team=a%00b"), 422, "invalid_request", "team");
    assert_refused(CALL("GET", "/v1/things?te%00am=a"), 422, "invalid_request", "te%00am");
    assert_refused(CALL("GET", "/v1/things?query[state][]=%ff"), 422, "invalid_request",
                   "query[state][]");
    assert_runs(CALL("GET", "/v1/things?query[metadata][%00]=%ff&query[metadata][%ff%00]=%00"),
                "list", NULL);
}

static void assert_header_is_single(const char *name, const char *header, const char *other)
{
    struct call call = {
        .method = "GET", .uri = "/v1/things", .type = JSON, .headers = {header, other}};
    /* Before access is decided: a proxy may have read the other one. */
    is_authorized = false;
    assert_refused(call, 422, "invalid_request", name);
    is_authorized = true;
    assert_refused(call, 422, "invalid_request", name);
    call.headers[1] = NULL;
    assert_runs(call, "list", NULL);
}

TEST(test_headers_that_come_twice)
{
    assert_header_is_single("Idempotency-Key", "HTTP_IDEMPOTENCY_KEY=a", "HTTP_IDEMPOTENCY_KEY=a");
    assert_header_is_single("Authorization", "HTTP_AUTHORIZATION=Bearer a", "HTTP_AUTHORIZATION=");
    assert_header_is_single("If-Match", "HTTP_IF_MATCH=\"a\"", "HTTP_IF_MATCH=\"b\"");
    assert_header_is_single("Content-Type", "HTTP_CONTENT_TYPE=" JSON, "HTTP_CONTENT_TYPE=" JSON);
    assert_header_is_single("Content-Length", "HTTP_CONTENT_LENGTH=0", "HTTP_CONTENT_LENGTH=0");
    assert_refused((struct call){.method = "GET",
                                 .uri = "/v1/things",
                                 .type = JSON,
                                 .headers = {"HTTP_CONTENT_TYPE=" JSON ", text/plain"}},
                   422, "invalid_request", "Content-Type");
    is_authorized = true;
    assert_runs((struct call){.method = "GET",
                              .uri = "/v1/things",
                              .headers = {"HTTP_ACCEPT=text/html", "HTTP_ACCEPT=*/*"}},
                "list", NULL);
}
