/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit/unit.h"

#include "base/json_text.h"
#include "base/mem.h"
#include "http/kept_number.h"
#include "http/schema.h"

static const struct schema_member members[] = {
    {.name = "count", .type = SCHEMA_INTEGER},
    {.name = "labels", .type = SCHEMA_MAP, .keeps_numbers = true},
    {.name = NULL},
};

/* Parse a document with that value of the member, and write the value again. */
static void keeps(const char *value, const char *expected)
{
    json_auto_t *json = NULL;
    struct error *err = NULL;
    buffer_auto text = BUFFER_INIT(4096);
    autofree char *document = xasprintf("{\"count\": 7, \"labels\" :{\"a\":%s}}", value);
    assert_ok(schema_parse(members, document, strlen(document), &json, &err));
    assert_int_equal(json_integer_value(json_object_get(json, "count")), 7);
    json_text_kept(&text, json_object_get(json_object_get(json, "labels"), "a"));
    assert_string_equal(buffer_string(&text), expected);
}

TEST(numbers_keep_their_text)
{
    static const char *const texts[] = {
        "0",     "-0",     "0.1",  "0.10",  "19.99",    "9223372036854775808",
        "1e400", "1.5E+3", "1e-9", "[0.1]", "[1,2.50]", "{\"deep\":[1e400]}",
    };
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
        keeps(texts[i], texts[i]);
}

TEST(other_values_stay)
{
    keeps("\"0.10\"", "\"0.10\"");
    keeps("\"a \\\" 1\"", "\"a \\\" 1\"");
    keeps("true", "true");
    keeps("null", "null");
    keeps("[\"1\", 1, false]", "[\"1\",1,false]");
    keeps("{}", "{}");
}

/* The mark of a number is a NUL, which clients may send as well. */
TEST(strings_are_not_taken_for_numbers)
{
    keeps("\"\\u00005\"", "\"\\u00005\"");
    keeps("\"\\u0000\"", "\"\\u0000\"");
    keeps("[\"\\u0000\\u0000x\",5]", "[\"\\u0000\\u0000x\",5]");
}

TEST(text_that_is_not_json_is_refused)
{
    static const char *const values[] = {"01", "1.",  ".5",  "-",   "1e",
                                         "+1", "0x1", "NaN", "1 2", "\"1"};
    for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
        json_t *json = NULL;
        struct error *err = NULL;
        autofree char *document = xasprintf("{\"labels\":{\"a\":%s}}", values[i]);
        assert_fails(schema_parse(members, document, strlen(document), &json, &err),
                     ERR_INVALID_JSON);
        error_clear(&err);
    }
    json_t *json = NULL;
    struct error *err = NULL;
    const char *number_as_name = "{\"labels\":{1:2}}";
    assert_fails(schema_parse(members, number_as_name, strlen(number_as_name), &json, &err),
                 ERR_INVALID_JSON);
    error_clear(&err);
}

TEST(numbers_beyond_a_double_are_replaced_and_nothing_else)
{
    static const struct {
        const char *text, *expected;
    } cases[] = {
        {"[1e400,-2.5E+999]", "[1e300,-1e000300]"},
        {"[1e40,12345]", "[1e40,12345]"},
        {"[-inf,-,1e,\"1e400\"]", "[-inf,-,1e,\"1e400\"]"},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        autofree char *text = xstrdup(cases[i].text);
        numbers_clamp(text, strlen(text));
        assert_string_equal(text, cases[i].expected);
    }
}

/* Digits that are no number are read a fixed number of times; otherwise this takes an hour. */
TEST(digits_without_a_number_cost_their_length)
{
    static const char *const ends[] = {"", ".", "e", ".5e"};
    enum { SIZE = 4 * 1024 * 1024, ROOM = 8 };
    autofree char *text = xmalloc(SIZE + ROOM);
    for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
        memcpy(text, "{\"a\":[", 6);
        memset(text + 6, i ? '1' : '0', SIZE - 6);
        snprintf(text + SIZE, ROOM, "%s", ends[i]);
        autofree char *copy = xstrdup(text);
        numbers_clamp(copy, strlen(copy));
        assert_string_equal(copy, text);
        buffer_auto out = BUFFER_INIT(SIZE + ROOM);
        kept_numbers(text, strlen(text), "a", &out);
        assert_string_equal(buffer_string(&out), text);
    }
}

/* Members outside of the one that keeps its numbers are parsed as usual. */
TEST(the_rest_is_copied)
{
    const char *text = "{\"count\":1,\"list\":[1,{\"labels\":2}],\"labels\":{},\"after\":[3]}";
    buffer_auto out = BUFFER_INIT(1024);
    assert_false(kept_numbers(text, strlen(text), "labels", &out));
    assert_string_equal(buffer_string(&out), text);
}
