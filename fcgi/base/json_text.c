/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/json_text.h"

#include <stdio.h>
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

void json_text_string(struct buffer *out, const char *name, const char *text)
{
    json_text_name(out, name);
    buffer_append_char(out, '"');
    const char *from = text, *at = text;
    for (; *at; at++) {
        if ((unsigned char)*at >= 0x20 && *at != '"' && *at != '\\')
            continue;
        buffer_append(out, from, (size_t)(at - from));
        escape(out, (unsigned char)*at);
        from = at + 1;
    }
    buffer_append(out, from, (size_t)(at - from));
    buffer_append_char(out, '"');
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

void json_text_number(struct buffer *out, const char *name, int64_t number)
{
    char digits[24], *at = digits + sizeof digits;
    uint64_t left = number < 0 ? 0 - (uint64_t)number : (uint64_t)number;
    do
        *--at = (char)('0' + left % 10);
    while (left /= 10);
    if (number < 0)
        *--at = '-';
    json_text_name(out, name);
    buffer_append(out, at, (size_t)(digits + sizeof digits - at));
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
