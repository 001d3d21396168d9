/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/printable.h"

#include <string.h>

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

/* Terminals act on the first three, and show text in an order of its own after the others. */
static bool is_shown(unsigned character)
{
    return character >= 0x20 && !(character >= 0x7f && character < 0xa0) && character != 0x061c &&
           character != 0x200e && character != 0x200f &&
           !(character >= 0x202a && character <= 0x202e) &&
           !(character >= 0x2066 && character <= 0x2069);
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
