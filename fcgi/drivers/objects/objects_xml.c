/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "objects/objects_xml.h"

#include <string.h>

#include "base/mem.h"
#include "base/str.h"

static const struct {
    const char *entity;
    char character;
} entities[] = {
    {"&lt;", '<'}, {"&gt;", '>'}, {"&quot;", '"'}, {"&#34;", '"'}, {"&apos;", '\''}, {"&amp;", '&'},
};

/* The character of an entity at the beginning of text, and how long that is. */
static char read_entity(const char *text, size_t *length)
{
    for (size_t i = 0; i < ARRAY_SIZE(entities); i++)
        if (str_starts_with(text, entities[i].entity)) {
            *length = strlen(entities[i].entity);
            return entities[i].character;
        }
    *length = 1;
    return *text;
}

static char *plain(const char *text, size_t size)
{
    char *out = xmalloc(size + 1);
    size_t used = 0, length;
    for (const char *at = text; at < text + size; at += length)
        out[used++] = read_entity(at, &length);
    out[used] = '\0';
    return out;
}

char *objects_xml_next(const char **at, const char *name)
{
    autofree char *open = xasprintf("<%s>", name);
    autofree char *close = xasprintf("</%s>", name);
    const char *begin = strstr(*at, open);
    const char *end = begin ? strstr(begin, close) : NULL;
    if (!end)
        return NULL;
    begin += strlen(open);
    *at = end + strlen(close);
    return plain(begin, (size_t)(end - begin));
}

char *objects_xml_find(const char *text, const char *name)
{
    return objects_xml_next(&text, name);
}
