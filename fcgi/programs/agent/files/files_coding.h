/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Content codings of /files: which one a client wants, and gzip both ways. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <microhttpd.h>

#include "agent/common/rpc_error.h"

enum files_coding {
    CODING_IDENTITY,
    CODING_GZIP,      /* preferred; the plain bytes are acceptable too */
    CODING_GZIP_ONLY, /* the plain bytes were refused */
    CODING_NONE,      /* everything was refused */
};

/* What the value of an Accept-Encoding header (NULL: none) asks for. The plain bytes are acceptable
 * unless refused by name or by "*;q=0". */
enum files_coding files_choose_coding(const char *accepted);

/* Whether a file gets smaller, by the look of its beginning. True for all that are small. */
bool files_gzip_pays(int fd, uint64_t size);

/* The whole file from the descriptor's position, compressed as it is sent. Takes fd over. NULL when
 * there is no memory; fd is closed then, too. */
struct MHD_Response *files_gzip_response(int fd);

/* The other way. */
struct files_gunzip;
typedef int files_sink(void *context, const char *data, size_t size, struct rpc_error *error);

/* Compressed bytes of a turn of the loop: what becomes of them is written before others have one.
 */
#define GUNZIP_PIECE_MAX 2048

struct files_gunzip *files_gunzip_new(void);
void files_gunzip_free(struct files_gunzip *gunzip);

/* Give what the bytes become to the sink, in pieces of a bounded size. RPC_INVALID_ARGUMENT: they
 * are no gzip data. Members after the first are taken as well. */
int files_gunzip_data(struct files_gunzip *gunzip, const char *data, size_t size, files_sink *sink,
                      void *context, struct rpc_error *error);

/* RPC_INVALID_ARGUMENT when the data ended before its end. */
int files_gunzip_end(struct files_gunzip *gunzip, struct rpc_error *error);
