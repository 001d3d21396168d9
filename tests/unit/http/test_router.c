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
    {.method = "GET",
     .pattern = "/v1/public",
     .operation = "public",
     .handler = answer,
     .scope = ROUTE_PUBLIC},
};
static const struct router router = {
    .routes = routes, .count = ARRAY_SIZE(routes), .authorize = authorize};

struct call {
    const char *method, *uri, *type, *text;
    bool too_large;
};

static void serve(struct call call, struct http_response *response)
{
    autofree char *method = xasprintf("REQUEST_METHOD=%s", call.method);
    autofree char *uri = xasprintf("REQUEST_URI=%s", call.uri);
    const char *query_at = strchr(call.uri, '?');
    autofree char *query = xasprintf("QUERY_STRING=%s", query_at ? query_at + 1 : "");
    autofree char *type = xasprintf("CONTENT_TYPE=%s", call.type ? call.type : "");
    char *parameters[] = {method, uri, query, type, NULL};
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

static void test_matches(void **state)
{
    is_authorized = true;
    assert_runs(CALL("GET", "/v1/things/x"), "show", "x");
    assert_runs(CALL("HEAD", "/v1/things/x"), "show", "x");
    assert_runs(CALL("GET", "/v1/things/a%2Fb%20+"), "show", "a/b +");
    assert_runs(CALL("GET", "/v1/things/limits"), "limits", NULL);
    /* The literal row has no DELETE; the capture has. */
    assert_runs(CALL("DELETE", "/v1/things/limits"), "delete", "limits");
    assert_runs(CALL("POST", "/v1/things/x/wake"), "wake", "x");
    assert_runs(CALL("GET", "/v1/things?team=a&query[state][]=x&query%5Bstate%5D%5B%5D=y&"
                            "query[metadata][k]=v"),
                "list", NULL);
}

static void test_paths_that_are_none(void **state)
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
        "/v1/%74hings",
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

static void test_wrong_methods(void **state)
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
static void test_order_of_refusals(void **state)
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

static void test_bodies(void **state)
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

static void test_queries(void **state)
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
    assert_refused(CALL("GET", "/v1/things?team=%ff"), 422, "invalid_request", "team");
    assert_refused(CALL("GET", "/v1/things?team=a%00b"), 422, "invalid_request", "team");
    assert_refused(CALL("GET", "/v1/things?te%00am=a"), 422, "invalid_request", "te%00am");
    assert_refused(CALL("GET", "/v1/things?query[state][]=%ff"), 422, "invalid_request",
                   "query[state][]");
    assert_runs(CALL("GET", "/v1/things?query[metadata][%00]=%ff&query[metadata][%ff%00]=%00"),
                "list", NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_matches),       cmocka_unit_test(test_paths_that_are_none),
        cmocka_unit_test(test_wrong_methods), cmocka_unit_test(test_order_of_refusals),
        cmocka_unit_test(test_bodies),        cmocka_unit_test(test_queries),
    };
    return run_tests(tests);
}
