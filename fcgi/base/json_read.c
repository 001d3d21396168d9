/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/json_read.h"

#include <stdbool.h>

#include "base/mem.h"

void json_wipe_freed(void)
{
    json_set_alloc_funcs(xmalloc, mem_free_wiped);
}

enum json_size json_size_of(const char *text, size_t size)
{
    size_t depth = 0, values = 1;
    bool in_string = false;
    for (size_t i = 0; i < size; i++) {
        char c = text[i];
        if (in_string) {
            if (c == '\\')
                i++;
            else if (c == '"')
                in_string = false;
            continue;
        }
        if (c == '"')
            in_string = true;
        else if (c == '{' || c == '[')
            depth++;
        else if ((c == '}' || c == ']') && depth)
            depth--;
        /* Each comma stands before a value, and each bracket may. */
        values += c == ',' || c == '{' || c == '[';
        if (depth > JSON_DEPTH_MAX)
            return JSON_TOO_DEEP;
        if (values > JSON_VALUES_MAX)
            return JSON_TOO_MANY_VALUES;
    }
    return JSON_FITS;
}

json_t *json_read(const char *text, size_t size, size_t flags, json_error_t *problem)
{
    if (json_size_of(text, size) != JSON_FITS)
        return NULL;
    return json_loadb(text ? text : "", size, flags, problem);
}
