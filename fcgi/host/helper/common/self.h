/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Find this program's own file, also when a link was called. */
#pragma once

/* The name of its file. */
#define SELF_NAME "sandlot-incus"

/* Return its whole path, or "" when /proc has no answer. */
const char *self_path(void);

/* Return the path of another file in its folder; the file need not exist. The caller frees it. */
char *self_beside(const char *name);

/* Remove from a search path each folder in which the name is a link to this program, or another
 * copy of this program. Empty parts are removed too. The caller frees the result. */
char *self_path_without(const char *path, const char *name);
