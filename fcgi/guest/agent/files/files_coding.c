/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/files/files_coding.h"

#include <stdbool.h>
#include <unistd.h>

#include <zlib.h>

#include "base/mem.h"

#define GZIP_WINDOW (15 + 16) /* zlib's way to say gzip */
#define GZIP_LEVEL  1
#define GZIP_INPUT  (32 * 1024)

#define SAMPLE_FROM (256 * 1024)
#define SAMPLE_SIZE (32 * 1024)

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
