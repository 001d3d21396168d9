/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Envelopes of the Connect protocol and gRPC-web: one byte of flags, four of length (big-endian), a
 * message. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "agent/common/rpc_error.h"
#include "base/buffer.h"

#define ENVELOPE_HEAD 5

enum envelope_flags {
    ENVELOPE_COMPRESSED = 1,
    ENVELOPE_END = 2,         /* the last one of a response */
    ENVELOPE_TRAILERS = 0x80, /* the same in gRPC-web */
};

struct envelope {
    const char *message; /* borrowed from the buffer */
    size_t size;
    bool compressed;
};

/* Read the body of a request that is exactly one envelope. */
int envelope_parse(const char *data, size_t size, struct envelope *envelope,
                   struct rpc_error *error);

/* Read the first envelope of a stream. Returns 1 with *envelope, 0 when more bytes are needed, -1
 * with an error for one larger than max or with other flags than ENVELOPE_COMPRESSED. */
int envelope_next(const char *data, size_t size, size_t max, struct envelope *envelope,
                  struct rpc_error *error);

/* Append an envelope. Returns 0, or -1 when the buffer would pass its maximum. */
int envelope_append(struct buffer *buffer, unsigned flags, const char *message, size_t size);

/* Append the end of a response: with an error, or without (NULL). Returns as envelope_append(). */
int envelope_append_end(struct buffer *buffer, const struct rpc_error *error);
