/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files below /proc, whose size stat(2) does not know. */
#pragma once

#include <stddef.h>

/* Read at most size - 1 bytes; "" when the file cannot be read. The caller frees the text. */
char *proc_file_read(const char *path, size_t size);
