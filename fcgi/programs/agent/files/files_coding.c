/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/files/files_coding.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include <zlib.h>

#include "base/mem.h"

#define GZIP_WINDOW     (15 + 16) /* zlib's way to say gzip */
#define GZIP_LEVEL      1
#define GZIP_INPUT      (32 * 1024)

#define SAMPLE_FROM     (256 * 1024)
#define SAMPLE_SIZE     (32 * 1024)

#define WEIGHT_MAX      1000
#define WEIGHT_UNSTATED -1

/* --- what the client wants --- */

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

enum files_coding files_choose_coding(const char *accepted)
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
    /* Plain bytes that nobody mentioned are what is sent for want of anything better. */
    return gzip > 0 && gzip >= identity ? CODING_GZIP : CODING_IDENTITY;
}

/* --- compressing --- */

struct gzip {
    z_stream stream;
    int fd;
    bool at_end, finished;
    unsigned char input[GZIP_INPUT];
};

bool files_gzip_pays(int fd, uint64_t size)
{
    static unsigned char sample[SAMPLE_SIZE], packed[SAMPLE_SIZE];
    if (size < SAMPLE_FROM)
        return true;
    /* Not the very beginning, which is a header even of packed files. */
    ssize_t got = pread(fd, sample, sizeof sample, SAMPLE_SIZE);
    uLongf packed_size = sizeof packed - sizeof packed / 16;
    return got == sizeof sample &&
           compress2(packed, &packed_size, sample, sizeof sample, 1) == Z_OK;
}

static ssize_t on_read(void *context, uint64_t position, char *out, size_t room)
{
    (void)position;
    struct gzip *gzip = context;
    z_stream *stream = &gzip->stream;
    if (gzip->finished)
        return MHD_CONTENT_READER_END_OF_STREAM;
    stream->next_out = (unsigned char *)out;
    stream->avail_out = (unsigned)room;
    while (stream->avail_out == room && !gzip->finished) {
        if (!stream->avail_in && !gzip->at_end) {
            ssize_t size = read(gzip->fd, gzip->input, sizeof gzip->input);
            if (size < 0)
                return MHD_CONTENT_READER_END_WITH_ERROR;
            gzip->at_end = !size;
            stream->next_in = gzip->input;
            stream->avail_in = (unsigned)size;
        }
        int rc = deflate(stream, gzip->at_end ? Z_FINISH : Z_NO_FLUSH);
        if (rc != Z_OK && rc != Z_BUF_ERROR && rc != Z_STREAM_END)
            return MHD_CONTENT_READER_END_WITH_ERROR;
        gzip->finished = rc == Z_STREAM_END;
    }
    return (ssize_t)(room - stream->avail_out);
}

static void on_free(void *context)
{
    struct gzip *gzip = context;
    deflateEnd(&gzip->stream);
    close(gzip->fd);
    free(gzip);
}

struct MHD_Response *files_gzip_response(int fd)
{
    struct gzip *gzip = xcalloc(1, sizeof *gzip);
    gzip->fd = fd;
    struct MHD_Response *response = NULL;
    if (deflateInit2(&gzip->stream, GZIP_LEVEL, Z_DEFLATED, GZIP_WINDOW, 8, Z_DEFAULT_STRATEGY) ==
        Z_OK)
        response =
            MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, GZIP_INPUT, on_read, gzip, on_free);
    if (!response)
        on_free(gzip);
    return response;
}
