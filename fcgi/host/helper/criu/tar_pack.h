/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Read and write small tar archives: few folders, links and small files. */
#pragma once

#include <stddef.h>

#include "base/tar.h"

#define TAR_RECORD (20 * TAR_BLOCK)
#define TAR_MOST   (1 << 20) /* of an archive, in bytes */

/* Pack a folder into an archive, which the caller frees. Return 0, or -1 with errno. Return 1 for
 * work that only the real tar can do: other kinds of files, much data, hard links, long names. */
int tar_pack(const char *folder, char **archive, size_t *size);

/* Unpack an archive. Returns like tar_pack(); nothing was done when it returns 1. */
int tar_unpack(const char *folder, const char *archive, size_t size);
