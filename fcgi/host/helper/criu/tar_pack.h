/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Small archives in the format of tar: folders, links and small files, of which little is there. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/tar.h"

#define TAR_RECORD (20 * TAR_BLOCK)
#define TAR_MOST   (1 << 20) /* of an archive, in bytes */

/* What is in a folder, as an archive that the caller frees. Returns 1, and nothing, when this is
 * work for tar itself: other kinds of files, much of them, several names of one, long names. Else
 * -1, with errno. */
int tar_pack(const char *folder, char **archive, size_t *size);

/* The other way. Nothing was done when it returns 1. */
int tar_unpack(const char *folder, const char *archive, size_t size);
