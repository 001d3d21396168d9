/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/media_type.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#define QUALITY_FULL 1000

bool media_type_is(const char *value, const char *type)
{
    size_t length = strlen(type);
    if (!value || strncasecmp(value, type, length) != 0)
        return false;
    value += length + strspn(value + length, " \t");
    return !*value || *value == ';';
}

static bool is_utf8_name(const char *charset, size_t size)
{
    if (size > 1 && *charset == '"')
        return is_utf8_name(charset + 1, size - 2);
    return (size == 5 && !strncasecmp(charset, "utf-8", size)) ||
           (size == 4 && !strncasecmp(charset, "utf8", size));
}

bool media_type_is_utf8(const char *value)
{
    const char *at = value ? strchr(value, ';') : NULL;
    while (at) {
        at += 1 + strspn(at + 1, " \t");
        if (!strncasecmp(at, "charset=", 8) && !is_utf8_name(at + 8, strcspn(at + 8, "; \t")))
            return false;
        at = strchr(at, ';');
    }
    return true;
}

static int read_quality(const char *range, size_t length)
{
    for (size_t i = 0; i + 2 < length; i++) {
        if (range[i] != ';')
            continue;
        size_t at = i + 1;
        while (at + 2 < length && isspace((unsigned char)range[at]))
            at++;
        if (strncasecmp(range + at, "q=", 2))
            continue;
        int value = 0, weight = QUALITY_FULL;
        for (at += 2; at < length && (isdigit((unsigned char)range[at]) || range[at] == '.');
             at++) {
            if (range[at] == '.')
                continue;
            value += weight * (range[at] - '0');
            weight /= 10;
        }
        return value < QUALITY_FULL ? value : QUALITY_FULL;
    }
    return QUALITY_FULL;
}

int media_type_quality(const char *accept, const char *type)
{
    size_t type_length = strlen(type);
    while (accept && *accept) {
        accept += strspn(accept, ", \t");
        size_t length = strcspn(accept, ",");
        size_t name = strcspn(accept, ",; \t");
        if (name == type_length && !strncasecmp(accept, type, name))
            return read_quality(accept, length);
        accept += length;
    }
    return 0;
}
