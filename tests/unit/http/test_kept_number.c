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

static void numbers_keep_their_text(void **state)
{
    static const char *const texts[] = {
        "0",     "-0",     "0.1",  "0.10",  "19.99",    "9223372036854775808",
        "1e400", "1.5E+3", "1e-9", "[0.1]", "[1,2.50]", "{\"deep\":[1e400]}",
    };
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
        keeps(texts[i], texts[i]);
}

static void other_values_stay(void **state)
{
    keeps("\"0.10\"", "\"0.10\"");
    keeps("\"a \\\" 1\"", "\"a \\\" 1\"");
    keeps("true", "true");
    keeps("null", "null");
    keeps("[\"1\", 1, false]", "[\"1\",1,false]");
    keeps("{}", "{}");
}

/* The mark of a number is a NUL, which clients may send as well. */
static void strings_are_not_taken_for_numbers(void **state)
{
    keeps("\"\\u00005\"", "\"\\u00005\"");
    keeps("\"\\u0000\"", "\"\\u0000\"");
    keeps("[\"\\u0000\\u0000x\",5]", "[\"\\u0000\\u0000x\",5]");
}

static void text_that_is_not_json_is_refused(void **state)
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

/* Members outside of the one that keeps its numbers are parsed as usual. */
static void the_rest_is_copied(void **state)
{
    const char *text = "{\"count\":1,\"list\":[1,{\"labels\":2}],\"labels\":{},\"after\":[3]}";
    buffer_auto out = BUFFER_INIT(1024);
    assert_false(kept_numbers(text, strlen(text), "labels", &out));
    assert_string_equal(buffer_string(&out), text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_keep_their_text),
        cmocka_unit_test(other_values_stay),
        cmocka_unit_test(strings_are_not_taken_for_numbers),
        cmocka_unit_test(text_that_is_not_json_is_refused),
        cmocka_unit_test(the_rest_is_copied),
    };
    return run_tests(tests);
}
