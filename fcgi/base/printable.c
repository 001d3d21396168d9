/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/printable.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "base/mem.h"

/* Read one character of UTF-8. Returns its length in bytes, or 0 for other bytes. */
static size_t read_character(const char *text, unsigned *character)
{
    static const struct {
        unsigned char mask, lead;
        unsigned least;
    } forms[] = {{0x80, 0, 0}, {0xe0, 0xc0, 0x80}, {0xf0, 0xe0, 0x800}, {0xf8, 0xf0, 0x10000}};
    for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
        if (((unsigned char)*text & forms[i].mask) != forms[i].lead)
            continue;
        *character = (unsigned char)*text & (unsigned char)~forms[i].mask;
        for (size_t k = 1; k <= i; k++) {
            if (((unsigned char)text[k] & 0xc0) != 0x80)
                return 0;
            *character = *character << 6 | ((unsigned char)text[k] & 0x3f);
        }
        return *character >= forms[i].least ? i + 1 : 0;
    }
    return 0;
}

/* Ranges of characters that are not shown as themselves. Terminals act on the first two. The others
 * have no width, change the direction of text, or end lines, so two different names would look the
 * same. */
static bool is_shown(unsigned character)
{
    static const struct {
        unsigned first, last;
    } hidden[] = {
        {0x00, 0x1f},     {0x7f, 0x9f},     {0xad, 0xad},       {0x034f, 0x034f}, {0x061c, 0x061c},
        {0x115f, 0x1160}, {0x17b4, 0x17b5}, {0x180b, 0x180f},   {0x200b, 0x200f}, {0x2028, 0x202e},
        {0x2060, 0x206f}, {0x3164, 0x3164}, {0xd800, 0xdfff},   {0xfe00, 0xfe0f}, {0xfeff, 0xfeff},
        {0xffa0, 0xffa0}, {0xfff0, 0xfffb}, {0xe0000, 0xe0fff},
    };
    for (size_t i = 0; i < ARRAY_SIZE(hidden); i++)
        if (character >= hidden[i].first && character <= hidden[i].last)
            return false;
    return character <= 0x10ffff;
}

void printable_append(const char *text, const char *keep, struct buffer *out)
{
    unsigned character;
    while (*text) {
        size_t length = read_character(text, &character);
        if (length && (is_shown(character) || (length == 1 && strchr(keep, *text))))
            buffer_append(out, text, length);
        else
            buffer_append_char(out, '?');
        text += length ? length : 1;
    }
}

char *printable(const char *text, const char *keep)
{
    buffer_auto out = BUFFER_INIT(strlen(text));
    printable_append(text, keep, &out);
    return buffer_steal(&out);
}

size_t printable_fit(const char *text, size_t most, size_t *size)
{
    size_t width = 0;
    mbstate_t state = {0};
    *size = 0;
    for (;;) {
        wchar_t character;
        size_t length = mbrtowc(&character, text + *size, MB_CUR_MAX, &state);
        int columns = length && length <= MB_CUR_MAX ? wcwidth(character) : 0;
        if (!length || length > MB_CUR_MAX || width + (size_t)(columns > 0 ? columns : 0) > most)
            return width;
        width += (size_t)(columns > 0 ? columns : 0);
        *size += length;
    }
}

size_t printable_width(const char *text)
{
    size_t size;
    return printable_fit(text, SIZE_MAX, &size);
}

void printable_print(FILE *out, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    autowipe char *text = xvasprintf(format, ap);
    va_end(ap);
    autowipe char *shown = printable(text, "\n\t");
    fputs(shown, out);
}
