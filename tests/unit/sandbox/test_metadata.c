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

TEST(values_become_strings)
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

TEST(nothing_is_an_empty_object)
{
    struct error *err = NULL;
    autofree char *text = NULL;
    assert_ok(metadata_read(NULL, &text, &err));
    assert_string_equal(text, "{}");
}

TEST(refuses_with_the_pointer)
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

TEST(lengths_are_counted_in_characters)
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

TEST(patches_merge_and_remove)
{
    struct error *err = NULL;
    json_auto_t *patch = parse("{\"a\":null,\"b\":\"2\",\"c\":3,\"none\":null}");
    autofree char *text = NULL;
    assert_ok(metadata_patch("{\"a\":\"1\",\"b\":\"1\",\"k\":\"1\"}", patch, &text, &err));
    json_auto_t *stored = parse(text);
    json_auto_t *expected = parse("{\"b\":\"2\",\"c\":\"3\",\"k\":\"1\"}");
    assert_true(json_equal(stored, expected));
}

TEST(a_patch_of_null_removes_all)
{
    struct error *err = NULL;
    json_auto_t *patch = json_null();
    autofree char *text = NULL;
    assert_ok(metadata_patch("{\"a\":\"1\",\"b\":\"1\"}", patch, &text, &err));
    assert_string_equal(text, "{}");
}

TEST(counts_keys_after_the_patch)
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
