/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit/unit.h"

#include "api/whole_list.h"
#include "base/mem.h"
#include "unit/keyring.h"

static struct api api;
static const struct route route = {.whole_list = "rows"};

static int api_setup(void **state)
{
    api = (struct api){.worker.ring = unit_keyring(UNIT_KEY_1), .principal = {.user_id = "usr_1"}};
    return 0;
}

static int api_teardown(void **state)
{
    keyring_free((struct keyring *)(uintptr_t)api.worker.ring);
    return 0;
}

/* Return the page of a list with these rows. */
static json_t *ask(const char *rows, const char *query)
{
    autofree char *text = xasprintf("QUERY_STRING=%s", query);
    char method[] = "REQUEST_METHOD=GET", uri[] = "REQUEST_URI=/v1/rows";
    char *parameters[] = {method, uri, text, NULL};
    struct http_request request;
    struct http_response response;
    error_auto err = NULL;
    json_t *list = json_loads(rows, 0, NULL);
    assert_non_null(list);
    http_request_init(&request, parameters, 0);
    http_response_init(&response);
    assert_int_equal(http_request_parse_query(&request, &err), 0);
    assert_int_equal(http_response_json(&response, 200, json_pack("{s:o}", "rows", list)), 0);
    assert_int_equal(whole_list_cut(&api, &route, &request, &response, &err), 0);
    json_t *body = json_incref(response.json);
    http_response_deinit(&response);
    http_request_deinit(&request);
    return body;
}

static void assert_rows(const json_t *body, const char *expected)
{
    autofree char *rows = json_dumps(json_object_get(body, "rows"), JSON_COMPACT);
    assert_string_equal(rows, expected);
}

/* Read a page of two rows, then the rest of a list that has changed meanwhile. */
static void assert_rest(const char *before, const char *after, const char *expected)
{
    json_auto_t *first = ask(before, "limit=2");
    const char *token = json_string_value(json_object_get(first, "next_token"));
    assert_non_null(token);
    autofree char *query = xasprintf("next_token=%s", token);
    json_auto_t *rest = ask(after, query);
    assert_rows(rest, expected);
    assert_null(json_object_get(rest, "next_token"));
}

#define ROW(id)  "{\"id\":\"" id "\"}"
#define ALL_FIVE "[" ROW("a") "," ROW("b") "," ROW("c") "," ROW("d") "," ROW("e") "]"

TEST(the_next_page_begins_after_the_last_row)
{
    assert_rest(ALL_FIVE, ALL_FIVE, "[" ROW("c") "," ROW("d") "," ROW("e") "]");
    /* A row before it was deleted, and another one was added. */
    assert_rest(ALL_FIVE, "[" ROW("b") "," ROW("c") "]", "[" ROW("c") "]");
    assert_rest(ALL_FIVE, "[" ROW("0") "," ROW("a") "," ROW("b") "," ROW("c") "]",
                "[" ROW("c") "]");
}

/* A client deletes each row that it has read, and then asks for the next page. */
TEST(the_deletion_of_a_page_skips_no_row)
{
    assert_rest(ALL_FIVE, "[" ROW("c") "," ROW("d") "," ROW("e") "]",
                "[" ROW("c") "," ROW("d") "," ROW("e") "]");
    /* A new row came before the next one. */
    assert_rest(ALL_FIVE, "[" ROW("0") "," ROW("c") "," ROW("d") "]",
                "[" ROW("c") "," ROW("d") "]");
}

TEST(without_both_rows_the_next_page_begins_at_the_place)
{
    assert_rest(ALL_FIVE, "[" ROW("a") "," ROW("d") "," ROW("e") "]",
                "[" ROW("d") "," ROW("e") "]");
    assert_rest(ALL_FIVE, "[" ROW("e") "]", "[]");
}

#define DENIAL(target, port) "{\"kind\":\"connection\",\"target\":\"" target "\",\"port\":" port "}"

/* Denials of several targets have the same port. */
TEST(rows_with_the_same_port_are_different)
{
    const char *rows = "[" DENIAL("192.0.2.1", "443") "," DENIAL("192.0.2.2", "443") "," DENIAL(
        "192.0.2.2", "80") "," DENIAL("a.example", "null") "," DENIAL("b.example", "null") "]";
    static const char *const pages[] = {
        "[" DENIAL("192.0.2.1", "443") "]", "[" DENIAL("192.0.2.2", "443") "]",
        "[" DENIAL("192.0.2.2", "80") "]", "[" DENIAL("a.example", "null") "]",
        "[" DENIAL("b.example", "null") "]"};
    autofree char *query = xstrdup("limit=1");
    for (size_t i = 0; i < ARRAY_SIZE(pages); i++) {
        json_auto_t *body = ask(rows, query);
        assert_rows(body, pages[i]);
        const char *token = json_string_value(json_object_get(body, "next_token"));
        assert_int_equal(token == NULL, i + 1 == ARRAY_SIZE(pages));
        free(query);
        query = xasprintf("limit=1&next_token=%s", token ? token : "");
    }
}

TEST_GROUP(api_setup, api_teardown)
