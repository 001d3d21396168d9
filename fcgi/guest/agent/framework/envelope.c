/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/framework/envelope.h"

#include <jansson.h>
#include <string.h>

#include "base/mem.h"

static size_t length_of(const unsigned char *head)
{
    return (size_t)head[1] << 24 | (size_t)head[2] << 16 | (size_t)head[3] << 8 | head[4];
}

static int read_head(const unsigned char *head, struct envelope *envelope, struct rpc_error *error)
{
    if (head[0] & ~ENVELOPE_COMPRESSED)
        return rpc_error_set(error, RPC_INVALID_ARGUMENT, "unknown envelope flags 0x%02x", head[0]);
    envelope->compressed = head[0] & ENVELOPE_COMPRESSED;
    envelope->message = (const char *)head + ENVELOPE_HEAD;
    envelope->size = length_of(head);
    return 0;
}

int envelope_parse(const char *data, size_t size, struct envelope *envelope,
                   struct rpc_error *error)
{
    if (size < ENVELOPE_HEAD)
        return rpc_error_set(error, RPC_INVALID_ARGUMENT, "the request has no envelope");
    if (read_head((const unsigned char *)data, envelope, error) < 0)
        return -1;
    if (envelope->size != size - ENVELOPE_HEAD)
        return rpc_error_set(
            error, RPC_INVALID_ARGUMENT,
            "the request must be one envelope: its header says %zu bytes, but %zu follow",
            envelope->size, size - ENVELOPE_HEAD);
    return 0;
}

int envelope_next(const char *data, size_t size, size_t max, struct envelope *envelope,
                  struct rpc_error *error)
{
    if (size < ENVELOPE_HEAD)
        return 0;
    if (read_head((const unsigned char *)data, envelope, error) < 0)
        return -1;
    if (envelope->size > max)
        return rpc_error_set(error, RPC_TOO_LARGE, "a message is larger than %zu KiB", max / 1024);
    return size - ENVELOPE_HEAD >= envelope->size;
}

/* Append the head alone; the message of that size has to follow. */
static int envelope_append_head(struct buffer *buffer, unsigned flags, size_t size)
{
    const unsigned char head[ENVELOPE_HEAD] = {
        (unsigned char)flags,       (unsigned char)(size >> 24), (unsigned char)(size >> 16),
        (unsigned char)(size >> 8), (unsigned char)size,
    };
    return buffer_append(buffer, head, sizeof head);
}

int envelope_append(struct buffer *buffer, unsigned flags, const char *message, size_t size)
{
    if (envelope_append_head(buffer, flags, size) < 0)
        return -1;
    return buffer_append(buffer, message, size);
}

int envelope_append_end(struct buffer *buffer, const struct rpc_error *error)
{
    json_auto_t *json = error ? json_pack("{s:{s:s, s:s}}", "error", "code",
                                          rpc_connect_code(error->code), "message", error->message)
                              : json_object();
    autofree char *text = json_dumps(json, JSON_COMPACT);
    return envelope_append(buffer, ENVELOPE_END, text, strlen(text));
}
