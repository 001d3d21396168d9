/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Small files and folders. Where nothing else is said a function returns 0, or -1 with errno. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

/* folder/name; the caller frees it. */
char *files_path(const char *folder, const char *name);
bool files_exist(const char *folder, const char *name);

/* The first line of a file; the caller frees it. NULL, perhaps without errno: there is none. */
char *files_read_line(const char *folder, const char *name);
int files_write_line(const char *folder, const char *name, const char *line);

/* Made with exactly these rights; one that is there stays as it is. */
int files_make_folder(const char *path, mode_t mode);

/* Have the only lock on an open file, for which others are waited for so long: EWOULDBLOCK. */
int files_lock_within(int fd, unsigned wait_ms);

/* Say on standard error what failed, on what, and why by errno. Returns -1. */
int files_complain(const char *what, const char *path);
