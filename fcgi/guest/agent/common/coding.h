/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Content codings: select the client's, and compress complete data with gzip. */
#pragma once

#include <stddef.h>

#include "base/buffer.h"

enum coding {
    CODING_IDENTITY,
    CODING_GZIP,      /* preferred; the plain bytes are acceptable too */
    CODING_GZIP_ONLY, /* the plain bytes were refused */
    CODING_NONE,      /* everything was refused */
};

/* Select the coding for the value of an Accept-Encoding header (NULL: none). The plain bytes are
 * acceptable unless refused by name or by "*;q=0". */
enum coding coding_choose(const char *accepted);

/* Append the bytes as gzip data. Returns 0, or -1 without memory or room in the buffer. Its
 * contents are then unchanged; without room, it is marked as overflowed. */
int gzip_whole(const char *data, size_t size, struct buffer *out);
