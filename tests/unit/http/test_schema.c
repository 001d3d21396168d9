/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit/unit.h"

#include "base/buffer.h"
#include "base/json_read.h"
#include "http/schema.h"

static int check_even(const json_t *value, const char *pointer, struct error **err)
{
    if (json_integer_value(value) % 2 == 0)
        return 0;
    return error_set_field(err, ERR_INVALID_REQUEST, pointer, "%s must be even", pointer);
}

static const char *const colours[] = {"red", "green", NULL};
static const struct schema_member short_text = {.type = SCHEMA_STRING, .min = 1, .max = 3};
static const struct schema_member even = {.type = SCHEMA_INTEGER, .check = check_even};
static const struct schema_member inner[] = {
    {.name = "must", .type = SCHEMA_BOOLEAN, .required = true},
    {.name = "may", .type = SCHEMA_INTEGER},
    {.name = "count", .hint = "it stands outside"},
    {.name = NULL},
};
static const struct schema_member mapped[] = {
    {.name = "map", .type = SCHEMA_MAP, .item = &short_text},
    {.name = NULL},
};
static const struct schema_member mapped_item = {.type = SCHEMA_OBJECT, .members = mapped};
static const struct schema_member members[] = {
    {.name = "objects", .type = SCHEMA_ARRAY, .item = &mapped_item},
    {.name = "allow_internet_access", .type = SCHEMA_BOOLEAN},
    {.name = "count", .type = SCHEMA_INTEGER, .min = 1, .max = 20},
    {.name = "free", .type = SCHEMA_INTEGER},
    {.name = "colour", .type = SCHEMA_STRING, .choices = colours},
    {.name = "text", .type = SCHEMA_STRING, .nullable = true, .max = 5},
    {.name = "object", .type = SCHEMA_OBJECT, .members = inner},
    {.name = "list", .type = SCHEMA_ARRAY, .item = &even, .max = 3, .choices = colours},
    {.name = "label", .type = SCHEMA_STRING, .characters = true, .max = 3},
    {.name = "map", .type = SCHEMA_MAP, .item = &short_text, .max = 2},
    {.name = "any", .type = SCHEMA_ANY},
    {.name = "number_of_things", .hint = "things are numbered by \"count\""},
    {.name = NULL},
};

static void accept(const char *text)
{
    json_t *json = NULL;
    struct error *err = NULL;
    assert_ok(schema_parse(NULL, text, strlen(text), &json, &err));
    assert_ok(schema_validate(members, json, &err));
    json_decref(json);
}

static void refuse(const char *text, const char *field, const char *message)
{
    json_t *json = NULL;
    struct error *err = NULL;
    assert_ok(schema_parse(NULL, text, strlen(text), &json, &err));
    assert_fails(schema_validate(members, json, &err), ERR_INVALID_REQUEST);
    assert_string_equal(err->field, field);
    assert_string_equal(err->message, message);
    error_clear(&err);
    json_decref(json);
}

TEST(test_accepts)
{
    accept("{}");
    accept("{\"count\":1,\"free\":-9223372036854775808}");
    accept("{\"count\":20,\"colour\":\"green\",\"text\":null,\"allow_internet_access\":false}");
    accept("{\"object\":{\"must\":true},\"list\":[],\"map\":{}}");
    accept("{\"list\":[2,4,6],\"map\":{\"a\":\"1\",\"b/c\":\"123\"},\"text\":\"12345\"}");
    accept("{\"list\":\"red\",\"label\":\"\\u20ac\\ud83d\\ude00x\"}");
    accept("{\"any\":[\"\\u0000\",{\"x\":1.5}]}");
}

/* Programs without integers write 60.0; others write large numbers with an exponent. */
TEST(test_integers_in_any_form)
{
    static const char text[] =
        "{\"a\":[3.0,2e1,-0.0,1.5,12345678901234567890],\"b\":{\"c\":1.0E2},\"d\":2}";
    json_t *json = NULL;
    struct error *err = NULL;
    json_auto_t *read =
        json_pack("{s:[iiif], s:{s:i}, s:i}", "a", 3, 20, 0, 1.5, "b", "c", 100, "d", 2);
    json_array_append_new(json_object_get(read, "a"), json_real(12345678901234567890.0));
    assert_ok(schema_parse(NULL, text, strlen(text), &json, &err));
    assert_true(json_equal(json, read));
    json_decref(json);
    accept("{\"count\":3.0,\"free\":1E3}");
    accept("[]");
}

TEST(test_an_empty_array_is_an_empty_map)
{
    json_auto_t *given = json_loads(
        "{\"map\":[],\"list\":[],\"object\":[],\"any\":[],\"objects\":[{\"map\":[]}]}", 0, NULL);
    json_auto_t *read = json_loads(
        "{\"map\":{},\"list\":[],\"object\":{},\"any\":[],\"objects\":[{\"map\":{}}]}", 0, NULL);
    schema_read_empty_maps(members, given);
    assert_true(json_equal(given, read));
    json_object_set_new(given, "map", json_pack("[i]", 1));
    schema_read_empty_maps(members, given);
    assert_int_equal(json_array_size(json_object_get(given, "map")), 1);
}

TEST(test_refuses)
{
    refuse("[1]", "", "the body must be a JSON object");
    refuse("{\"allow_internet_acces\":false}", "/allow_internet_acces",
           "unknown member \"allow_internet_acces\"; did you mean \"allow_internet_access\"?");
    refuse("{\"zzzzzzzzzz\":1}", "/zzzzzzzzzz", "unknown member \"zzzzzzzzzz\"");
    refuse("{\"count\":0}", "/count", "/count must be from 1 to 20");
    refuse("{\"count\":21}", "/count", "/count must be from 1 to 20");
    refuse("{\"count\":3.5}", "/count", "/count must be an integer");
    refuse("{\"count\":1e-1}", "/count", "/count must be an integer");
    refuse("{\"count\":1e2}", "/count", "/count must be from 1 to 20");
    refuse("{\"count\":99999999999999999999}", "/count", "/count must be from 1 to 20");
    refuse("{\"free\":-1e300}", "/free", "/free is out of range");
    refuse("{\"text\":\"1e999\",\"free\":-1e999}", "/free", "/free is out of range");
    refuse("{\"count\":1e00400,\"any\":12345678901234567890}", "/count",
           "/count must be from 1 to 20");
    refuse("{\"any\":[1e400,-2.5E+999],\"text\":1e309}", "/text", "/text must be a string");
    refuse("{\"count\":\"3\"}", "/count", "/count must be an integer");
    refuse("{\"count\":true}", "/count", "/count must be an integer");
    refuse("{\"count\":null}", "/count", "/count must be an integer");
    refuse("{\"allow_internet_access\":1}", "/allow_internet_access",
           "/allow_internet_access must be true or false");
    refuse("{\"colour\":\"blue\"}", "/colour", "/colour must be one of \"red\", \"green\"");
    refuse("{\"text\":\"123456\"}", "/text", "/text must have at most 5 bytes");
    refuse("{\"text\":\"a\\u0000\"}", "/text", "/text must not have a NUL character");
    refuse("{\"text\":\"a\\u00e9\\u00e9\\u00e9\"}", "/text", "/text must have at most 5 bytes");
    refuse("{\"object\":{}}", "/object/must", "/object/must is required");
    refuse("{\"object\":{\"must\":true,\"mat\":1}}", "/object/mat",
           "unknown member \"mat\"; did you mean \"may\"?");
    refuse("{\"label\":\"\\u20ac\\u20acxx\"}", "/label", "/label must have at most 3 characters");
    refuse("{\"list\":\"red\\u0000\"}", "/list", "/list must not have a NUL character");
    refuse("{\"list\":\"blue\"}", "/list", "/list must be one of \"red\", \"green\"");
    refuse("{\"list\":[2,3]}", "/list/1", "/list/1 must be even");
    refuse("{\"list\":[2,2,2,2]}", "/list", "/list must have at most 3 entries");
    refuse("{\"list\":{}}", "/list", "/list must be an array");
    refuse("{\"map\":{\"a/b~c\":\"\"}}", "/map/a~1b~0c", "/map/a~1b~0c must have at least 1 bytes");
    refuse("{\"map\":{\"a\":\"1\",\"b\":\"2\",\"c\":\"3\"}}", "/map",
           "/map must have at most 2 entries");
}

/* A name that means something else, or something in another place. */
TEST(test_hints)
{
    const char *hint = "unknown member \"number_of_things\": things are numbered by \"count\"";
    refuse("{\"number_of_things\":1}", "/number_of_things", hint);
    refuse("{\"number_of_thing\":1}", "/number_of_thing",
           "unknown member \"number_of_thing\": things are numbered by \"count\"");
    refuse("{\"must\":true}", "/must", "unknown member \"must\"; did you mean \"object.must\"?");
    refuse("{\"mustt\":true}", "/mustt", "unknown member \"mustt\"; did you mean \"object.must\"?");
    refuse("{\"object\":{\"must\":true,\"count\":1}}", "/object/count",
           "unknown member \"count\": it stands outside");
    accept("{\"count\":1,\"object\":{\"must\":true}}");
}

static void refuse_text(const char *text, size_t size, const char *message)
{
    json_t *json = NULL;
    struct error *err = NULL;
    assert_fails_saying(schema_parse(NULL, text, size, &json, &err), ERR_INVALID_JSON, message);
    assert_null(json);
}

TEST(test_parse)
{
#define REFUSE(text, message) refuse_text(text, sizeof(text) - 1, message)
    REFUSE("{\"a\":1,\"a\":2}", "an object has the same member twice");
    REFUSE("{\"a\":1} x", "there is text after the end");
    REFUSE("{\"a\":", "the text ends before the document does");
    REFUSE("\xff", "not UTF-8");
    REFUSE("{\"a\":\"\xff\"}", "not UTF-8");
    REFUSE("nonsense", "not JSON");
    REFUSE("{\"a\0b\":1}", "line 1");
    /* What is wrong may be a secret and is not repeated. */
    json_t *json = NULL;
    struct error *err = NULL;
    assert_int_equal(schema_parse(NULL, "{\"k\": hunter2}", 14, &json, &err), -1);
    assert_null(strstr(err->message, "hunter2"));
    error_clear(&err);
}

TEST(test_scalars)
{
    static const char *const scalars[] = {"\"text\"", "5", "-1.5", "true", "null", " null "};
    for (size_t i = 0; i < sizeof scalars / sizeof scalars[0]; i++) {
        json_t *scalar = NULL;
        struct error *err = NULL;
        assert_ok(schema_parse(members, scalars[i], strlen(scalars[i]), &scalar, &err));
        assert_fails_saying(schema_validate(members, scalar, &err), ERR_INVALID_REQUEST,
                            "the body must be a JSON object");
        json_decref(scalar);
    }
}

TEST(test_depth)
{
    struct buffer text = BUFFER_INIT(100000);
    for (size_t depth = JSON_DEPTH_MAX; depth <= JSON_DEPTH_MAX + 1; depth++) {
        json_t *json = NULL;
        struct error *err = NULL;
        buffer_clear(&text);
        for (size_t i = 0; i < depth; i++)
            buffer_append_char(&text, '[');
        for (size_t i = 0; i < depth; i++)
            buffer_append_char(&text, ']');
        if (depth == JSON_DEPTH_MAX)
            assert_ok(schema_parse(NULL, text.data, text.size, &json, &err));
        else
            assert_fails_saying(schema_parse(NULL, text.data, text.size, &json, &err),
                                ERR_INVALID_JSON, "more than 32 levels");
        json_decref(json);
    }
    /* Brackets in strings are text. */
    buffer_clear(&text);
    buffer_append_string(&text, "[\"\\\"");
    for (size_t i = 0; i < 1000; i++)
        buffer_append_char(&text, '[');
    buffer_append_string(&text, "\"]");
    json_t *json = NULL;
    struct error *err = NULL;
    assert_ok(schema_parse(NULL, text.data, text.size, &json, &err));
    json_decref(json);
    buffer_deinit(&text);
}

TEST(test_drops_what_is_unknown)
{
    static const struct schema_member part[] = {{.name = "a", .type = SCHEMA_INTEGER},
                                                {.name = NULL}};
    static const struct schema_member item = {.type = SCHEMA_OBJECT, .members = part};
    static const struct schema_member known[] = {
        {.name = "object", .type = SCHEMA_OBJECT, .members = part},
        {.name = "list", .type = SCHEMA_ARRAY, .item = &item},
        {.name = "map", .type = SCHEMA_MAP, .item = &item},
        {.name = "any", .type = SCHEMA_ANY},
        {.name = "old", .hint = "it is new"},
        {.name = NULL}};
    json_auto_t *given = json_loads("{\"object\":{\"a\":1,\"b\":2},\"list\":[{\"b\":1},{\"a\":3}],"
                                    "\"map\":{\"x\":{\"a\":1,\"c\":[]}},\"any\":{\"b\":1},"
                                    "\"old\":1,\"other\":{\"a\":1}}",
                                    0, NULL);
    json_auto_t *left = json_loads("{\"object\":{\"a\":1},\"list\":[{},{\"a\":3}],"
                                   "\"map\":{\"x\":{\"a\":1}},\"any\":{\"b\":1}}",
                                   0, NULL);
    json_auto_t *wrong = json_loads("{\"object\":[{\"b\":1}],\"list\":{\"b\":1}}", 0, NULL);
    struct error *err = NULL;
    schema_drop_unknown(known, given);
    assert_true(json_equal(given, left));
    assert_ok(schema_validate(known, given, &err));
    schema_drop_unknown(known, wrong);
    assert_fails(schema_validate(known, wrong, &err), ERR_INVALID_REQUEST);
}
