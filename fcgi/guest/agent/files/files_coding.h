/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files as gzip on the way out. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <microhttpd.h>

/* Return whether a file gets smaller, by the look of its beginning. True for all that are small. */
bool files_gzip_pays(int fd, uint64_t size);

/* Return the whole file from the descriptor's position, compressed as it is sent. Takes fd over.
 * NULL when there is no memory; fd is closed then, too. */
struct MHD_Response *files_gzip_response(int fd);
