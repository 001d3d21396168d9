/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parameters of header values: token=token, token="quoted string" (RFC 9110, section 5.6.6), and
 * token*=UTF-8''percent-encoded (RFC 8187). */
#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "agent/files/multipart.h"
#include "base/mem.h"
#include "base/str.h"

#define SPACE   " \t"
#define CHARSET "utf-8'"

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

/* Decode the text in place. Returns false if it is no percent-encoded UTF-8. */
static bool decode(char *text)
{
    char *out = text;
    for (const char *c = text; *c; c++) {
        char byte[3] = {*c};
        if (*c == '%') {
            if (!isxdigit((unsigned char)c[1]) || !isxdigit((unsigned char)c[2]))
                return false;
            memcpy(byte, c + 1, 2);
            *byte = (char)strtol(byte, NULL, 16);
            c += 2;
        }
        if (!*byte)
            return false;
        *out++ = *byte;
    }
    *out = '\0';
    return str_is_utf8(text, (size_t)(out - text));
}

char *multipart_file_name(const char *value)
{
    autofree char *coded = multipart_parameter(value, "filename*");
    const char *language =
        coded && !strncasecmp(coded, CHARSET, sizeof CHARSET - 1) ? coded + sizeof CHARSET - 1 : "";
    const char *text = strchr(language, '\'');
    char *name = text ? xstrdup(text + 1) : NULL;
    if (name && decode(name))
        return name;
    free(name);
    return multipart_parameter(value, "filename");
}
