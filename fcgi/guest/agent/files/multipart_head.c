/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parameters of header values: token=token, token="quoted string" (RFC 9110, section 5.6.6). */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "agent/files/multipart.h"
#include "base/mem.h"

#define SPACE " \t"

/* After the opening quote: the string up to the closing one. NULL: no closing quote. */
static char *read_quoted(const char **text)
{
    char *value = xmalloc(strlen(*text) + 1);
    size_t size = 0;
    const char *c = *text;
    for (; *c && *c != '"'; c++) {
        if (*c == '\\' && (c[1] == '"' || c[1] == '\\'))
            c++;
        value[size++] = *c;
    }
    if (*c != '"') {
        free(value);
        return NULL;
    }
    value[size] = '\0';
    *text = c + 1;
    return value;
}

static char *read_value(const char **text)
{
    if (**text == '"') {
        (*text)++;
        return read_quoted(text);
    }
    size_t length = strcspn(*text, ";" SPACE);
    char *value = xstrndup(*text, length);
    *text += length;
    return value;
}

char *multipart_parameter(const char *value, const char *name)
{
    size_t name_length = strlen(name);
    for (value += strcspn(value, ";"); *value == ';'; value += strspn(value, SPACE)) {
        value++;
        value += strspn(value, SPACE);
        size_t length = strcspn(value, "=;" SPACE);
        bool wanted = length == name_length && !strncasecmp(value, name, length);
        value += length;
        value += strspn(value, SPACE);
        if (*value != '=')
            continue;
        value++;
        value += strspn(value, SPACE);
        char *found = read_value(&value);
        if (wanted || !found)
            return found;
        free(found);
    }
    return NULL;
}
