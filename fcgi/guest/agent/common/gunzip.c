/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/common/gunzip.h"

#include <stdlib.h>

#include <zlib.h>

#include "base/mem.h"

#define GZIP_WINDOW   (15 + 16) /* zlib's way to say gzip */
#define GUNZIP_OUTPUT (64 * 1024)

struct gunzip {
    z_stream stream;
    bool at_end; /* of a member; nothing or another one may follow */
};

struct gunzip *gunzip_new(void)
{
    struct gunzip *gunzip = xcalloc(1, sizeof *gunzip);
    if (inflateInit2(&gunzip->stream, GZIP_WINDOW) == Z_OK)
        return gunzip;
    free(gunzip);
    return NULL;
}

void gunzip_free(struct gunzip *gunzip)
{
    if (!gunzip)
        return;
    inflateEnd(&gunzip->stream);
    free(gunzip);
}

int gunzip_data(struct gunzip *gunzip, const char *data, size_t size, gunzip_sink *sink,
                void *context, struct rpc_error *error)
{
    static char output[GUNZIP_OUTPUT];
    z_stream *stream = &gunzip->stream;
    stream->next_in = (unsigned char *)data;
    stream->avail_in = (unsigned)size;
    do {
        if (gunzip->at_end && stream->avail_in) {
            inflateReset(stream);
            gunzip->at_end = false;
        }
        stream->next_out = (unsigned char *)output;
        stream->avail_out = sizeof output;
        int rc = gunzip->at_end ? Z_BUF_ERROR : inflate(stream, Z_NO_FLUSH);
        if (rc != Z_OK && rc != Z_STREAM_END && rc != Z_BUF_ERROR)
            return rpc_error_set(error, RPC_INVALID_ARGUMENT, "the body is not valid gzip data");
        size_t produced = sizeof output - stream->avail_out;
        if (produced && sink(context, output, produced, error) < 0)
            return -1;
        gunzip->at_end |= rc == Z_STREAM_END;
    } while (stream->avail_in || !stream->avail_out);
    return 0;
}

int gunzip_end(struct gunzip *gunzip, struct rpc_error *error)
{
    if (gunzip->at_end)
        return 0;
    return rpc_error_set(error, RPC_INVALID_ARGUMENT, "the gzip data is cut off before its end");
}

static int append(void *context, const char *data, size_t size, struct rpc_error *error)
{
    struct buffer *out = context;
    if (buffer_append(out, data, size) < 0)
        return rpc_error_set(error, RPC_TOO_LARGE, "the unpacked gzip data is larger than %zu KiB",
                             out->max / 1024);
    return 0;
}

int gunzip_whole(const char *data, size_t size, struct buffer *out, struct rpc_error *error)
{
    struct gunzip *gunzip = gunzip_new();
    if (!gunzip)
        return rpc_error_set(error, RPC_RESOURCE_EXHAUSTED, "out of memory for gzip");
    int result =
        gunzip_data(gunzip, data, size, append, out, error) < 0 ? -1 : gunzip_end(gunzip, error);
    gunzip_free(gunzip);
    return result;
}
