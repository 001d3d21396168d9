/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit/unit.h"

#include <jansson.h>

#include "base/json_text.h"
#include "base/mem.h"

TEST(members_stand_between_commas)
{
    buffer_auto text = BUFFER_INIT(1000);
    buffer_append_char(&text, '{');
    json_text_string(&text, "a", "x");
    json_text_string_or_null(&text, "b", "");
    json_text_number(&text, "c", 0);
    json_text_number(&text, "d", INT64_MIN);
    json_text_bool(&text, "e", true);
    json_text_time(&text, "f", 0);
    json_text_time(&text, "g", 1);
    json_text_object(&text, "h", "{\"i\":1}");
    json_text_object(&text, "j", "");
    json_text_name(&text, "k");
    buffer_append_char(&text, '[');
    json_text_name(&text, "");
    buffer_append_string(&text, "{}");
    json_text_name(&text, "");
    buffer_append_string(&text, "{}");
    buffer_append_string(&text, "]}");
    assert_string_equal(buffer_string(&text),
                        "{\"a\":\"x\",\"b\":null,\"c\":0,\"d\":-9223372036854775808,\"e\":true,"
                        "\"f\":null,\"g\":\"1970-01-01T00:00:00.001Z\",\"h\":{\"i\":1},\"j\":{},"
                        "\"k\":[{},{}]}");
}

/* As jansson writes it, and reads it again. */
TEST(text_is_escaped)
{
    char all[0x100 + 8];
    size_t size = 0;
    for (int c = 1; c < 0x80; c++)
        all[size++] = (char)c;
    memcpy(all + size, "\xc3\xa9", 3);
    buffer_auto text = BUFFER_INIT(2000);
    json_text_string(&text, "", all);
    json_auto_t *json = json_string(all);
    autofree char *expected = json_dumps(json, JSON_COMPACT | JSON_ENCODE_ANY);
    assert_string_equal(buffer_string(&text), expected);
}

TEST(reals_take_the_shortest_form)
{
    static const struct {
        double number;
        const char *text;
    } cases[] = {
        {4.759, "4.759"}, {0.1, "0.1"},   {0.1 + 0.2, "0.30000000000000004"}, {19.99, "19.99"},
        {3, "3.0"},       {-0.5, "-0.5"}, {1.0 / 3, "0.3333333333333333"},    {1e300, "1e+300"},
        {0, "0.0"},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        buffer_auto text = BUFFER_INIT(100);
        json_auto_t *json = json_real(cases[i].number);
        json_text_value(&text, json);
        assert_string_equal(buffer_string(&text), cases[i].text);
    }
}

TEST(values_are_written_whole)
{
    const char *document = "{\"a\":[],\"b\":{},\"c\":[1,[true,false,null]],\"d\":{\"e\":\"x\\n\"},"
                           "\"f\":-7}";
    json_auto_t *json = json_loads(document, 0, NULL);
    buffer_auto text = BUFFER_INIT(1000);
    json_text_value(&text, json);
    assert_string_equal(buffer_string(&text), document);
}
