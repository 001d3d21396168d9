/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files that the owner of the sandbox may have replaced by anything. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Read a regular file of at most max bytes, without waiting. False: there is no such file, or it is
 * larger. */
bool regular_file_read(const char *path, char *text, size_t max, size_t *size);
