/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/json_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

void json_text_name(struct buffer *out, const char *name)
{
    char last = out->size ? out->data[out->size - 1] : '{';
    if (last != '{' && last != '[' && last != ':')
        buffer_append_char(out, ',');
    if (!*name)
        return;
    buffer_append_char(out, '"');
    buffer_append_string(out, name);
    buffer_append(out, "\":", 2);
}

static void escape(struct buffer *out, unsigned char c)
{
    static const char short_of[] = {['\b'] = 'b', ['\t'] = 't', ['\n'] = 'n', ['\f'] = 'f',
                                    ['\r'] = 'r', ['"'] = '"',  ['\\'] = '\\'};
    if (short_of[c]) {
        buffer_append_char(out, '\\');
        buffer_append_char(out, short_of[c]);
    } else {
        buffer_printf(out, "\\u%04X", c);
    }
}

static void quote(struct buffer *out, const char *text, size_t size)
{
    const char *from = text, *end = text + size;
    buffer_append_char(out, '"');
    for (const char *at = text; at < end; at++) {
        if ((unsigned char)*at >= 0x20 && *at != '"' && *at != '\\')
            continue;
        buffer_append(out, from, (size_t)(at - from));
        escape(out, (unsigned char)*at);
        from = at + 1;
    }
    buffer_append(out, from, (size_t)(end - from));
    buffer_append_char(out, '"');
}

void json_text_string(struct buffer *out, const char *name, const char *text)
{
    json_text_name(out, name);
    quote(out, text, strlen(text));
}

void json_text_string_or_null(struct buffer *out, const char *name, const char *text)
{
    if (*text) {
        json_text_string(out, name, text);
        return;
    }
    json_text_name(out, name);
    buffer_append_string(out, "null");
}

static void write_integer(struct buffer *out, int64_t number)
{
    char digits[24], *at = digits + sizeof digits;
    uint64_t left = number < 0 ? 0 - (uint64_t)number : (uint64_t)number;
    do
        *--at = (char)('0' + left % 10);
    while (left /= 10);
    if (number < 0)
        *--at = '-';
    buffer_append(out, at, (size_t)(digits + sizeof digits - at));
}

void json_text_number(struct buffer *out, const char *name, int64_t number)
{
    json_text_name(out, name);
    write_integer(out, number);
}

void json_text_bool(struct buffer *out, const char *name, bool value)
{
    json_text_name(out, name);
    buffer_append_string(out, value ? "true" : "false");
}

void json_text_time(struct buffer *out, const char *name, int64_t at_ms)
{
    char text[CLOCK_ISO8601_SIZE];
    json_text_string_or_null(out, name, at_ms ? clock_format_iso8601(at_ms, text) : "");
}

void json_text_object(struct buffer *out, const char *name, const char *text)
{
    json_text_name(out, name);
    buffer_append_string(out, *text == '{' ? text : "{}");
}

/* --- whole values --- */

static void write_value(struct buffer *out, const json_t *value, bool kept);

/* 15 digits give back every decimal number of 15 digits, 17 every double. */
static void write_real(struct buffer *out, double number)
{
    char text[32];
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, number);
        if (strtod(text, NULL) == number)
            break;
    }
    buffer_append_string(out, text);
    if (!strpbrk(text, ".e"))
        buffer_append(out, ".0", 2);
}

static void write_string(struct buffer *out, const json_t *value, bool kept)
{
    const char *text = json_string_value(value);
    size_t size = json_string_length(value);
    bool is_marked = kept && size > 1 && text[0] == JSON_TEXT_KEPT;
    if (is_marked && text[1] != JSON_TEXT_KEPT)
        buffer_append(out, text + 1, size - 1);
    else
        quote(out, text + is_marked, size - is_marked);
}

static void write_array(struct buffer *out, const json_t *value, bool kept)
{
    size_t index;
    json_t *element;
    buffer_append_char(out, '[');
    json_array_foreach ((json_t *)value, index, element) {
        if (index)
            buffer_append_char(out, ',');
        write_value(out, element, kept);
    }
    buffer_append_char(out, ']');
}

static void write_object(struct buffer *out, const json_t *value, bool kept)
{
    bool first = true;
    buffer_append_char(out, '{');
    for (void *at = json_object_iter((json_t *)value); at;
         at = json_object_iter_next((json_t *)value, at)) {
        const char *key = json_object_iter_key(at);
        if (!first)
            buffer_append_char(out, ',');
        first = false;
        quote(out, key, strlen(key));
        buffer_append_char(out, ':');
        write_value(out, json_object_iter_value(at), kept);
    }
    buffer_append_char(out, '}');
}

static void write_value(struct buffer *out, const json_t *value, bool kept)
{
    switch (json_typeof(value)) {
    case JSON_OBJECT:
        write_object(out, value, kept);
        break;
    case JSON_ARRAY:
        write_array(out, value, kept);
        break;
    case JSON_STRING:
        write_string(out, value, kept);
        break;
    case JSON_INTEGER:
        write_integer(out, json_integer_value(value));
        break;
    case JSON_REAL:
        write_real(out, json_real_value(value));
        break;
    case JSON_TRUE:
        buffer_append_string(out, "true");
        break;
    case JSON_FALSE:
        buffer_append_string(out, "false");
        break;
    case JSON_NULL:
        buffer_append_string(out, "null");
        break;
    }
}

void json_text_value(struct buffer *out, const json_t *value)
{
    write_value(out, value, false);
}

void json_text_kept(struct buffer *out, const json_t *value)
{
    write_value(out, value, true);
}
