/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit/unit.h"

#include "base/mem.h"
#include "sandbox/metadata.h"

static json_t *parse(const char *text)
{
    json_t *json = json_loads(text, JSON_ALLOW_NUL, NULL);
    assert_non_null(json);
    return json;
}

static void values_become_strings(void **state)
{
    struct error *err = NULL;
    json_auto_t *given = parse("{\"a\":\"x\",\"b\":42,\"c\":true,\"d\":{\"k\":[1, 2]},\"e\":1.5}");
    autofree char *text = NULL;
    assert_ok(metadata_read(given, &text, &err));
    json_auto_t *stored = parse(text);
    assert_string_equal(json_string_value(json_object_get(stored, "a")), "x");
    assert_string_equal(json_string_value(json_object_get(stored, "b")), "42");
    assert_string_equal(json_string_value(json_object_get(stored, "c")), "true");
    assert_string_equal(json_string_value(json_object_get(stored, "d")), "{\"k\":[1,2]}");
    assert_string_equal(json_string_value(json_object_get(stored, "e")), "1.5");
}

static void nothing_is_an_empty_object(void **state)
{
    struct error *err = NULL;
    autofree char *text = NULL;
    assert_ok(metadata_read(NULL, &text, &err));
    assert_string_equal(text, "{}");
}

static void refuses_with_the_pointer(void **state)
{
    static const struct {
        const char *text, *field;
    } bad[] = {
        {"{\"a\":null}", "/metadata/a"},
        {"{\"\":\"x\"}", "/metadata/"},
        {"{\"a/b~\":null}", "/metadata/a~1b~0"},
        {"{\"z\":\"a\\u0000b\"}", "/metadata/z"},
    };
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        struct error *err = NULL;
        json_auto_t *given = parse(bad[i].text);
        autofree char *text = NULL;
        assert_fails(metadata_read(given, &text, &err), ERR_INVALID_REQUEST);
        assert_string_equal(err->field, bad[i].field);
        error_clear(&err);
    }
}

/* One more two-byte character. */
static void append(char *text)
{
    memcpy(text + strlen(text), "\xc3\xa4", 3);
}

static void lengths_are_counted_in_characters(void **state)
{
    char value[METADATA_VALUE_MAX * 2 + 8] = "";
    for (int i = 0; i < METADATA_VALUE_MAX; i++)
        append(value);
    for (int over = 0; over <= 1; over++) {
        struct error *err = NULL;
        autofree char *text = NULL;
        json_auto_t *given = json_pack("{s:s}", "a", value);
        if (over)
            assert_fails(metadata_read(given, &text, &err), ERR_INVALID_REQUEST);
        else
            assert_ok(metadata_read(given, &text, &err));
        error_clear(&err);
        append(value);
    }
}

static void patches_merge_and_remove(void **state)
{
    struct error *err = NULL;
    json_auto_t *patch = parse("{\"a\":null,\"b\":\"2\",\"c\":3,\"none\":null}");
    autofree char *text = NULL;
    assert_ok(metadata_patch("{\"a\":\"1\",\"b\":\"1\",\"k\":\"1\"}", patch, &text, &err));
    json_auto_t *stored = parse(text);
    json_auto_t *expected = parse("{\"b\":\"2\",\"c\":\"3\",\"k\":\"1\"}");
    assert_true(json_equal(stored, expected));
}

static void counts_keys_after_the_patch(void **state)
{
    struct error *err = NULL;
    json_auto_t *full = json_object();
    for (int i = 0; i < METADATA_KEYS_MAX; i++) {
        char key[16];
        snprintf(key, sizeof key, "k%d", i);
        json_object_set_new(full, key, json_string("v"));
    }
    autofree char *stored = NULL, *swapped = NULL, *more = NULL;
    assert_ok(metadata_read(full, &stored, &err));
    json_auto_t *swap = parse("{\"k0\":null,\"new\":\"v\"}");
    assert_ok(metadata_patch(stored, swap, &swapped, &err));
    json_auto_t *add = parse("{\"one-more\":\"v\"}");
    assert_fails_saying(metadata_patch(stored, add, &more, &err), ERR_INVALID_REQUEST, "64");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_become_strings),
        cmocka_unit_test(nothing_is_an_empty_object),
        cmocka_unit_test(refuses_with_the_pointer),
        cmocka_unit_test(lengths_are_counted_in_characters),
        cmocka_unit_test(patches_merge_and_remove),
        cmocka_unit_test(counts_keys_after_the_patch),
    };
    return run_tests(tests);
}
