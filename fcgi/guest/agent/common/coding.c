/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/common/coding.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include <zlib.h>

#include "base/mem.h"

#define GZIP_WINDOW     (15 + 16) /* zlib's way to say gzip */
#define GZIP_LEVEL      1
#define GZIP_MEMORY     8

#define WEIGHT_MAX      1000
#define WEIGHT_UNSTATED -1

/* A weight in thousandths; anything malformed counts as the highest. */
static int read_weight(const char *item)
{
    const char *text = strchr(item, ';');
    if (!text)
        return WEIGHT_MAX;
    text += 1 + strspn(text + 1, " \t");
    if (tolower((unsigned char)*text) != 'q' || text[1] != '=')
        return WEIGHT_MAX;
    text += 2;
    if (*text != '0')
        return WEIGHT_MAX;
    int weight = 0;
    int scale = 100;
    if (text[1] == '.')
        for (text += 2; isdigit((unsigned char)*text) && scale; text++, scale /= 10)
            weight += (*text - '0') * scale;
    return weight;
}

static bool item_is(const char *item, const char *name)
{
    size_t length = strcspn(item, "; \t");
    return length == strlen(name) && !strncasecmp(item, name, length);
}

enum coding coding_choose(const char *accepted)
{
    int gzip = WEIGHT_UNSTATED, identity = WEIGHT_UNSTATED, others = WEIGHT_UNSTATED;
    autofree char *list = xstrdup(accepted ? accepted : "");
    char *rest = list;
    for (char *item; (item = strsep(&rest, ","));) {
        item += strspn(item, " \t");
        if (item_is(item, "gzip") || item_is(item, "x-gzip"))
            gzip = read_weight(item);
        else if (item_is(item, "identity"))
            identity = read_weight(item);
        else if (item_is(item, "*"))
            others = read_weight(item);
    }
    bool gzip_fits = gzip > 0 || (gzip == WEIGHT_UNSTATED && others > 0);
    if (!identity || (identity == WEIGHT_UNSTATED && !others))
        return gzip_fits ? CODING_GZIP_ONLY : CODING_NONE;
    /* Plain bytes are the default when the header does not mention them. */
    return gzip > 0 && gzip >= identity ? CODING_GZIP : CODING_IDENTITY;
}

int gzip_whole(const char *data, size_t size, struct buffer *out)
{
    z_stream stream = {.next_in = (unsigned char *)data, .avail_in = (unsigned)size};
    if (deflateInit2(&stream, GZIP_LEVEL, Z_DEFLATED, GZIP_WINDOW, GZIP_MEMORY,
                     Z_DEFAULT_STRATEGY) != Z_OK)
        return -1;
    size_t room = deflateBound(&stream, size);
    stream.next_out = (unsigned char *)buffer_reserve(out, room);
    stream.avail_out = stream.next_out ? (unsigned)room : 0;
    int rc = deflate(&stream, Z_FINISH);
    deflateEnd(&stream);
    if (rc != Z_STREAM_END)
        return -1;
    buffer_commit(out, room - stream.avail_out);
    return 0;
}
