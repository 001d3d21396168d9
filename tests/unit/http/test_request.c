/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit/unit.h"

#include "base/mem.h"
#include "http/http.h"

static char *parameters[16];

/* A request with these parameters ("NAME=value", NULL-terminated). */
static void make(struct http_request *request, ...)
{
    va_list ap;
    size_t count = 0;
    va_start(ap, request);
    const char *entry;
    while ((entry = va_arg(ap, const char *)))
        parameters[count++] = (char *)entry;
    parameters[count] = NULL;
    va_end(ap);
    http_request_init(request, parameters, 1024);
}

TEST(test_basics)
{
    struct http_request request;
    make(&request, "REQUEST_METHOD=POST", "REQUEST_URI=/v1/a%20b?x=/y?", "REMOTE_ADDR=192.0.2.1",
         "SANDLOT_REQUEST_ID=abc-DEF_09", "HTTP_IDEMPOTENCY_KEY=k", "CONTENT_TYPE=text/plain",
         "HTTP_EMPTY=", NULL);
    assert_string_equal(request.method, "POST");
    assert_string_equal(request.path, "/v1/a%20b");
    assert_string_equal(request.remote_address, "192.0.2.1");
    assert_string_equal(request.request_id, "abc-DEF_09");
    assert_string_equal(http_header(&request, "idempotency-key"), "k");
    assert_string_equal(http_header(&request, "Content-Type"), "text/plain");
    assert_null(http_header(&request, "Empty"));
    assert_null(http_header(&request, "Idempotency"));
    assert_null(http_parameter(&request, "REQUEST"));
    http_request_deinit(&request);
}

/* The id goes into headers and logs, so only harmless ones are taken over. */
TEST(test_request_ids)
{
    static const char *const bad[] = {"SANDLOT_REQUEST_ID=", "SANDLOT_REQUEST_ID=a b",
                                      "SANDLOT_REQUEST_ID=a\r\nX: y",
                                      "SANDLOT_REQUEST_ID=a234567890123456789012345678901234567890"
                                      "1234567890123456789012345"};
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        struct http_request request;
        make(&request, bad[i], NULL);
        assert_int_equal(strncmp(request.request_id, "req_", 4), 0);
        http_request_deinit(&request);
    }
}

TEST(test_query)
{
    struct http_request request;
    struct error *err = NULL;
    make(&request, "QUERY_STRING=a=1&&b&c=&query%5Bmetadata%5D%5Bk+%c3%a9%5D=%26%3d+%2B&a=2", NULL);
    assert_ok(http_request_parse_query(&request, &err));
    assert_int_equal(request.query_count, 5);
    assert_string_equal(http_query(&request, "a"), "1");
    assert_string_equal(http_query(&request, "b"), "");
    assert_string_equal(http_query(&request, "c"), "");
    assert_string_equal(http_query(&request, "query[metadata][k \xc3\xa9]"), "&= +");
    assert_null(http_query(&request, "d"));
    http_request_deinit(&request);
}

TEST(test_bad_queries)
{
    static const struct {
        const char *query, *field;
    } cases[] = {
        {"QUERY_STRING=a=%", "a"},
        {"QUERY_STRING=a=%4", "a"},
        {"QUERY_STRING=a=%zz", "a"},
        {"QUERY_STRING=ok=1&%fg=1", "%fg"},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct http_request request;
        struct error *err = NULL;
        make(&request, cases[i].query, NULL);
        assert_fails(http_request_parse_query(&request, &err), ERR_INVALID_REQUEST);
        assert_string_equal(err->field, cases[i].field);
        error_clear(&err);
        http_request_deinit(&request);
    }
}

TEST(test_bytes_that_are_no_text)
{
    struct http_request request;
    struct error *err = NULL;
    make(&request, "QUERY_STRING=a=x%00y&b=%ff&%fe=1&c%00=2&d=%ed%a0%80&%00&", NULL);
    assert_ok(http_request_parse_query(&request, &err));
    assert_int_equal(request.query_count, 6);
    assert_int_equal(request.query[0].value_size, 3);
    assert_memory_equal(request.query[0].value, "x\0y", 4);
    for (size_t i = 0; i < request.query_count; i++)
        assert_false(request.query[i].name_is_text && request.query[i].value_is_text);
    /* None of them passes for a parameter that it is not. */
    for (size_t i = 0; i < 4; i++)
        assert_null(http_query(&request, (const char *const[]){"a", "b", "c", ""}[i]));
    http_request_deinit(&request);
}

TEST(test_query_limits)
{
    struct buffer query = BUFFER_INIT(65536);
    struct http_request request;
    struct error *err = NULL;
    buffer_append_string(&query, "QUERY_STRING=");
    for (int i = 0; i < HTTP_QUERY_MAX; i++)
        buffer_append_string(&query, "a=1&");
    make(&request, query.data, NULL);
    assert_ok(http_request_parse_query(&request, &err));
    assert_int_equal(request.query_count, HTTP_QUERY_MAX);
    http_request_deinit(&request);
    buffer_append_string(&query, "z=1");
    make(&request, query.data, NULL);
    assert_fails_saying(http_request_parse_query(&request, &err), ERR_INVALID_REQUEST,
                        "at most 64");
    http_request_deinit(&request);

    buffer_clear(&query);
    buffer_append_string(&query, "QUERY_STRING=a=");
    while (query.size < HTTP_QUERY_BYTES_MAX + strlen("QUERY_STRING="))
        buffer_append_char(&query, 'x');
    make(&request, query.data, NULL);
    assert_ok(http_request_parse_query(&request, &err));
    http_request_deinit(&request);
    buffer_append_char(&query, 'x');
    make(&request, query.data, NULL);
    assert_fails_saying(http_request_parse_query(&request, &err), ERR_INVALID_REQUEST, "longer");
    http_request_deinit(&request);
    buffer_deinit(&query);
}
