/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Content codings of /files: which one a client wants, and gzip on the way out. */
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
