/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Several parts of a file in one answer. */
#include <inttypes.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/files/files.h"
#include "base/mem.h"

#define BOUNDARY_BYTES 12
#define BLOCK_SIZE     (32 * 1024)

struct parts_body {
    int fd;
    struct file_parts parts;
    char *heads[FILE_PARTS_MAX + 1]; /* the head of each part, and the end */
    size_t at;                       /* the part in hand; parts.count: the end */
    uint64_t offset;                 /* in its head, then in it */
};

static ssize_t on_read(void *context, uint64_t position, char *out, size_t room)
{
    (void)position;
    struct parts_body *body = context;
    const char *head = body->heads[body->at];
    size_t head_size = strlen(head);
    if (body->offset < head_size) {
        size_t size = head_size - body->offset < room ? head_size - (size_t)body->offset : room;
        memcpy(out, head + body->offset, size);
        body->offset += size;
        return (ssize_t)size;
    }
    if (body->at == body->parts.count)
        return MHD_CONTENT_READER_END_OF_STREAM;
    const struct file_part *part = &body->parts.items[body->at];
    uint64_t done = body->offset - head_size;
    size_t wanted = part->length - done < room ? (size_t)(part->length - done) : room;
    ssize_t size = pread(body->fd, out, wanted, (off_t)(part->first + done));
    /* It is shorter by now. */
    if (size <= 0)
        return MHD_CONTENT_READER_END_WITH_ERROR;
    body->offset += (size_t)size;
    if (done + (size_t)size == part->length) {
        body->at++;
        body->offset = 0;
    }
    return size;
}

static void on_free(void *context)
{
    struct parts_body *body = context;
    for (size_t i = 0; i <= body->parts.count; i++)
        free(body->heads[i]);
    close(body->fd);
    free(body);
}

/* Returns the length of the whole body. */
static uint64_t make_heads(struct parts_body *body, const char *boundary, uint64_t size,
                           const char *media_type)
{
    uint64_t total = 0;
    for (size_t i = 0; i < body->parts.count; i++) {
        const struct file_part *part = &body->parts.items[i];
        body->heads[i] =
            xasprintf("\r\n--%s\r\nContent-Type: %s\r\nContent-Range: bytes %" PRIu64 "-%" PRIu64
                      "/%" PRIu64 "\r\n\r\n",
                      boundary, media_type, part->first, part->first + part->length - 1, size);
        total += strlen(body->heads[i]) + part->length;
    }
    body->heads[body->parts.count] = xasprintf("\r\n--%s--\r\n", boundary);
    return total + strlen(body->heads[body->parts.count]);
}

struct MHD_Response *files_parts_response(int fd, const struct file_parts *parts, uint64_t size,
                                          const char *media_type)
{
    unsigned char random[BOUNDARY_BYTES];
    char boundary[2 * BOUNDARY_BYTES + 1];
    struct parts_body *body = xcalloc(1, sizeof *body);
    body->fd = fd;
    body->parts = *parts;
    randombytes_buf(random, sizeof random);
    sodium_bin2hex(boundary, sizeof boundary, random, sizeof random);
    uint64_t total = make_heads(body, boundary, size, media_type);
    struct MHD_Response *response =
        MHD_create_response_from_callback(total, BLOCK_SIZE, on_read, body, on_free);
    if (!response) {
        on_free(body);
        return NULL;
    }
    autofree char *type = xasprintf("multipart/byteranges; boundary=%s", boundary);
    MHD_add_response_header(response, "Content-Type", type);
    return response;
}
