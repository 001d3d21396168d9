/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Decompress gzip from clients: bodies as they come, and messages. */
#pragma once

#include <stddef.h>

#include "agent/common/rpc_error.h"
#include "base/buffer.h"

struct gunzip;
typedef int gunzip_sink(void *context, const char *data, size_t size, struct rpc_error *error);

/* Compressed bytes of one turn of the loop: their output is written before the next turn.
 */
#define GUNZIP_PIECE_MAX 2048

/* Start to decompress. NULL when there is no memory. */
struct gunzip *gunzip_new(void);
void gunzip_free(struct gunzip *gunzip);

/* Decompress bytes, and pass them to the sink in pieces of a limited size. Further gzip members are
 * decompressed too. Errors: RPC_INVALID_ARGUMENT (not gzip data), and those of the sink. */
int gunzip_data(struct gunzip *gunzip, const char *data, size_t size, gunzip_sink *sink,
                void *context, struct rpc_error *error);

/* Check that the data is complete. Errors: RPC_INVALID_ARGUMENT. */
int gunzip_end(struct gunzip *gunzip, struct rpc_error *error);

/* Decompress a complete message, and append it to *out. Errors: RPC_TOO_LARGE (more than the
 * maximum of the buffer), and those of gunzip_data() and gunzip_end(). */
int gunzip_whole(const char *data, size_t size, struct buffer *out, struct rpc_error *error);
