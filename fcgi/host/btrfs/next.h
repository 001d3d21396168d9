/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The btrfs behind this one. */
#pragma once

/* A search path without one folder, by whatever names that is in it; empty parts go as well. The
 * caller frees it. */
char *next_path(const char *path, const char *folder);

/* Take that folder, which this program is in, out of PATH. Returns 0, or -1, with a message, when
 * that was done before: there is no other one. */
int next_prepare(const char *folder);

/* Become it, with all arguments. Returns the exit status when that cannot be. */
int next_run(char *argv[]);
