/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit/unit.h"

#include "api/page_list.h"
#include "base/mem.h"
#include "unit/keyring.h"

/* Ids end in a number from 10; an even one belongs to the first team, an odd one to the second. */
#define FIRST_ID 10
#define LAST_ID  19
#define ID_START "row_0000000000000000000000000000"

struct row {
    char id[ID_SIZE];
    char *held;
};
PAGE_ROW(struct row);

static unsigned rows_alive;
static const char *failing_team;
static bool fails_to_complete;
static unsigned cut_even; /* the rows of a list of the first team; 0: all */
/* The number at which the first page of the first team ends; NULL: after its last row. */
static const char *read_even;
static size_t row_bytes;

static int list_rows(struct db *db, const struct page_query *query, void **rows, unsigned *count,
                     struct error **err)
{
    struct row *list = xcalloc(query->limit, sizeof *list);
    (void)db;
    *rows = list;
    for (int i = LAST_ID; i >= FIRST_ID && *count < query->limit; i--) {
        char id[ID_SIZE];
        snprintf(id, sizeof id, "%.*s%d", ID_SIZE - 3, ID_START, i);
        if (strcmp(query->team_id, i % 2 ? "team_odd" : "team_even") != 0 ||
            (query->before && strcmp(id, query->before) >= 0))
            continue;
        if (read_even && !query->before && !strcmp(query->team_id, "team_even") &&
            strcmp(id + ID_SIZE - 3, read_even) < 0) {
            snprintf(query->end, ID_SIZE, "%.*s%s", ID_SIZE - 3, ID_START, read_even);
            break;
        }
        struct row *row = &list[(*count)++];
        memcpy(row->id, id, sizeof id);
        row->held = xstrdup("held");
        rows_alive++;
        *query->cut = *count == cut_even && !strcmp(query->team_id, "team_even");
        if (*query->cut)
            break;
    }
    if (failing_team && !strcmp(query->team_id, failing_team))
        return error_set(err, ERR_DB_UNAVAILABLE, "the list fails");
    return 0;
}

static int complete_rows(struct db *db, void *rows, unsigned count, struct error **err)
{
    (void)db, (void)rows, (void)count;
    return fails_to_complete ? error_set(err, ERR_DB_UNAVAILABLE, "the rest fails") : 0;
}

static json_t *row_to_json(const struct api *api, const void *row)
{
    (void)api;
    return json_integer(strtol(((const struct row *)row)->id + ID_SIZE - 3, NULL, 10));
}

static void row_deinit(void *row)
{
    free(((struct row *)row)->held);
    rows_alive--;
}

static size_t row_size(const void *row)
{
    (void)row;
    return row_bytes;
}

static const struct page_kind kind = {
    .member = "rows",
    .row_size = sizeof(struct row),
    .list = list_rows,
    .complete = complete_rows,
    .to_json = row_to_json,
    .deinit = row_deinit,
    .size = row_size,
};

/* --- asking --- */

static struct team teams[] = {{.id = "team_even"}, {.id = "team_odd"}};
static struct api api;

static int api_setup(void **state)
{
    api = (struct api){.worker.ring = unit_keyring(UNIT_KEY_1),
                       .principal = {.user_id = "usr_1", .teams = teams, .team_count = 2}};
    return 0;
}

static int api_teardown(void **state)
{
    keyring_free((struct keyring *)(uintptr_t)api.worker.ring);
    return 0;
}

/* The answer to a query, parsed; no row outlives it. */
static json_t *ask(const char *query, struct error **err)
{
    autofree char *text = xasprintf("QUERY_STRING=%s", query);
    char method[] = "REQUEST_METHOD=GET", uri[] = "REQUEST_URI=/v1/rows";
    char *parameters[] = {method, uri, text, NULL};
    struct http_request request;
    struct http_response response;
    json_t *body = NULL;
    http_request_init(&request, parameters, 0);
    http_response_init(&response);
    request.operation = "listRows";
    assert_int_equal(http_request_parse_query(&request, err), 0);
    if (page_list(&api, &kind, &request, &response, err) == 0)
        body = json_incref(response.json);
    http_response_deinit(&response);
    http_request_deinit(&request);
    assert_int_equal(rows_alive, 0);
    return body;
}

static void assert_rows(const json_t *body, const char *expected)
{
    autofree char *rows = json_dumps(json_object_get(body, "rows"), JSON_COMPACT);
    assert_string_equal(rows, expected);
}

/* --- tests --- */

TEST(merges_the_teams_newest_first)
{
    error_auto err = NULL;
    json_auto_t *body = ask("", &err);
    assert_null(err);
    assert_rows(body, "[19,18,17,16,15,14,13,12,11,10]");
    assert_null(json_object_get(body, "next_token"));
}

static void assert_pages(unsigned limit, const char *const pages[], size_t count)
{
    autofree char *query = xasprintf("limit=%u", limit);
    for (size_t i = 0; i < count; i++) {
        error_auto err = NULL;
        json_auto_t *body = ask(query, &err);
        assert_null(err);
        assert_rows(body, pages[i]);
        const char *token = json_string_value(json_object_get(body, "next_token"));
        assert_int_equal(token == NULL, i + 1 == count);
        free(query);
        query = xasprintf("limit=%u&next_token=%s", limit, token ? token : "");
    }
}

TEST(goes_on_where_a_page_ended)
{
    static const char *const pages[] = {"[19,18,17,16]", "[15,14,13,12]", "[11,10]"};
    assert_pages(4, pages, ARRAY_SIZE(pages));
}

/* Rows of the other team do not overtake those that were left out. */
TEST(a_page_ends_where_the_rows_of_a_team_were_cut)
{
    static const char *const pages[] = {"[19,18,17,16]", "[15,14,13,12]", "[11,10]"};
    cut_even = 2;
    assert_pages(200, pages, ARRAY_SIZE(pages));
    cut_even = 0;
}

/* A list that reads many rows and finds few ends its page, also without a row. */
TEST(a_page_ends_where_the_reading_of_a_team_ended)
{
    static const char *const some[] = {"[19,18,17,16,15]", "[14,13,12,11,10]"};
    static const char *const none[] = {"[]", "[19,18,17,16,15,14,13,12,11,10]"};
    read_even = "15";
    assert_pages(200, some, ARRAY_SIZE(some));
    read_even = "20";
    assert_pages(200, none, ARRAY_SIZE(none));
    read_even = NULL;
}

TEST(a_page_of_large_rows_ends_early)
{
    static const char *const two[] = {"[19,18]", "[17,16]", "[15,14]", "[13,12]", "[11,10]"};
    static const char *const one[] = {"[19]", "[18]", "[17]", "[16]", "[15]",
                                      "[14]", "[13]", "[12]", "[11]", "[10]"};
    row_bytes = 3 << 19;
    assert_pages(200, two, ARRAY_SIZE(two));
    row_bytes = 5 << 20;
    assert_pages(200, one, ARRAY_SIZE(one));
    row_bytes = 0;
}

TEST(a_last_page_that_is_full_has_no_next)
{
    error_auto err = NULL;
    json_auto_t *body = ask("limit=10", &err);
    assert_rows(body, "[19,18,17,16,15,14,13,12,11,10]");
    assert_null(json_object_get(body, "next_token"));
}

/* ask() looks that the rows of the team before, and of the failing one, are freed. */
TEST(keeps_no_rows_when_a_team_fails)
{
    error_auto err = NULL;
    failing_team = "team_odd";
    assert_null(ask("", &err));
    failing_team = NULL;
    assert_int_equal(err->code, ERR_DB_UNAVAILABLE);
}

TEST(answers_nothing_when_the_rows_stay_incomplete)
{
    error_auto err = NULL;
    fails_to_complete = true;
    assert_null(ask("limit=3", &err));
    fails_to_complete = false;
    assert_int_equal(err->code, ERR_DB_UNAVAILABLE);
}

TEST_GROUP(api_setup, api_teardown)
