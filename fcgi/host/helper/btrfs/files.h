/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Handle small files and folders. Unless stated otherwise, functions return 0, or -1 with errno. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

/* Return folder/name; the caller frees it. */
char *files_path(const char *folder, const char *name);
bool files_exist(const char *folder, const char *name);

/* Return the first line of a file; the caller frees it. NULL with errno; ENODATA: there is no
 * whole line. */
char *files_read_line(const char *folder, const char *name);
int files_write_line(const char *folder, const char *name, const char *line);

/* Create a folder with exactly these rights. An existing folder stays as it is. */
int files_make_folder(const char *path, mode_t mode);

/* Take the exclusive lock of an open file within wait_ms. errno EWOULDBLOCK: others still hold
 * it. */
int files_lock_within(int fd, unsigned wait_ms);

/* Print to standard error: the failure, its object, and the reason from errno. Returns -1. */
int files_complain(const char *what, const char *path);
