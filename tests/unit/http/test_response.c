/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit/unit.h"

#include "http/http.h"

static char id[] = "SANDLOT_REQUEST_ID=r1", method_get[] = "REQUEST_METHOD=GET",
            method_head[] = "REQUEST_METHOD=HEAD";
static char *get[] = {method_get, id, NULL};
static char *head[] = {method_head, id, NULL};

/* What the response looks like to nginx; deinitialises both. */
static void assert_formats(char **parameters, struct http_response *response, const char *expected)
{
    struct http_request request;
    struct buffer out = BUFFER_INIT(65536);
    http_request_init(&request, parameters, 0);
    http_response_format(response, &request, &out);
    assert_string_equal(buffer_string(&out), expected);
    buffer_deinit(&out);
    http_request_deinit(&request);
    http_response_deinit(response);
}

TEST(test_json)
{
    struct http_response response;
    for (int i = 0; i < 2; i++) {
        http_response_init(&response);
        assert_int_equal(http_response_json(&response, 201, json_pack("{s:i}", "a", 1)), 0);
        http_response_header(&response, "X-Count", "%d", 7);
        assert_formats(
            i ? head : get, &response,
            i ? "Status: 201 Created\r\nX-Request-Id: r1\r\nCache-Control: no-store\r\n"
                "Content-Type: application/json\r\nContent-Length: 7\r\nX-Count: 7\r\n\r\n"
              : "Status: 201 Created\r\nX-Request-Id: r1\r\nCache-Control: no-store\r\n"
                "Content-Type: application/json\r\nContent-Length: 7\r\nX-Count: 7\r\n\r\n"
                "{\"a\":1}");
    }
}

TEST(test_no_content)
{
    struct http_response response;
    http_response_init(&response);
    http_response_json(&response, 204, NULL);
    assert_formats(get, &response,
                   "Status: 204 No Content\r\nX-Request-Id: r1\r\nCache-Control: no-store\r\n\r\n");
}

TEST(test_bytes)
{
    struct http_response response;
    http_response_init(&response);
    buffer_append(&response.body, "hi", 2);
    response.content_type = "text/plain";
    assert_formats(get, &response,
                   "Status: 200 OK\r\nX-Request-Id: r1\r\nCache-Control: no-store\r\n"
                   "Content-Type: text/plain\r\nContent-Length: 2\r\n\r\nhi");
}

/* The body and extra header of an error, as JSON text and header lines. */
static void assert_error(enum error_code code, const char *field, const char *message,
                         const char *body, const char *headers)
{
    struct http_request request;
    struct http_response response;
    struct error *err = NULL;
    http_request_init(&request, get, 0);
    http_response_init(&response);
    if (field)
        error_set_field(&err, code, field, "%s", message);
    else
        error_set(&err, code, "%s", message);
    http_response_error(&response, &request, err);
    char *text = json_dumps(response.json, JSON_COMPACT);
    assert_string_equal(text, body);
    assert_string_equal(buffer_string(&response.headers), headers);
    assert_int_equal(response.status, error_http_status(code));
    assert_string_equal(response.error_symbol, error_symbol(code));
    free(text);
    error_clear(&err);
    http_response_deinit(&response);
    http_request_deinit(&request);
}

TEST(test_errors)
{
    assert_error(ERR_INVALID_REQUEST, "/a", "bad",
                 "{\"error\":\"invalid_request\",\"message\":\"bad\",\"field\":\"/a\","
                 "\"request_id\":\"r1\"}",
                 "");
    assert_error(ERR_UNAUTHORIZED, NULL, "no",
                 "{\"error\":\"unauthorized\",\"message\":\"no\",\"request_id\":\"r1\"}",
                 "WWW-Authenticate: Bearer\r\n");
    assert_error(ERR_NO_CAPACITY, NULL, "full",
                 "{\"error\":\"no_capacity\",\"message\":\"full\",\"request_id\":\"r1\"}",
                 "Retry-After: 2\r\n");
    assert_error(ERR_INSUFFICIENT_STORAGE, NULL, "full",
                 "{\"error\":\"insufficient_storage\",\"message\":\"full\",\"request_id\":\"r1\"}",
                 "Retry-After: 2\r\n");
    assert_error(ERR_SANDBOX_BUSY, NULL, "pausing",
                 "{\"error\":\"sandbox_busy\",\"message\":\"pausing\",\"request_id\":\"r1\"}",
                 "Retry-After: 2\r\n");
    assert_error(ERR_SANDBOX_NOT_RUNNING, NULL, "paused",
                 "{\"error\":\"sandbox_not_running\",\"message\":\"paused\","
                 "\"request_id\":\"r1\"}",
                 "");
    /* Bytes of the input that are not UTF-8 still give a body. */
    assert_error(ERR_INVALID_REQUEST, "a\xff", "b\xfe",
                 "{\"error\":\"invalid_request\",\"message\":\"b?\",\"field\":\"a?\","
                 "\"request_id\":\"r1\"}",
                 "");
}

TEST(test_inner_errors_stay_inside)
{
    static const enum error_code codes[] = {ERR_INTERNAL,     ERR_CONFIG,      ERR_DB_UNAVAILABLE,
                                            ERR_DB_DUPLICATE, ERR_DB_DEADLOCK, ERR_OUTCOME_UNKNOWN,
                                            ERR_DB_FULL};
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
        struct http_request request;
        struct http_response response;
        struct error *err = NULL;
        http_request_init(&request, get, 0);
        http_response_init(&response);
        error_set(&err, codes[i], "secret detail");
        http_response_error(&response, &request, err);
        assert_null(strstr(json_string_value(json_object_get(response.json, "message")), "secret"));
        assert_string_equal(response.reason, "secret detail");
        error_clear(&err);
        http_response_deinit(&response);
        http_request_deinit(&request);
    }
}
