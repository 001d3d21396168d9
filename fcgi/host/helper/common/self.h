/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where this program lies, whatever link it was called by. */
#pragma once

/* The name of its file. */
#define SELF_NAME "sandlot-incus"

/* Its whole path; "" where /proc does not say. */
const char *self_path(void);

/* The path of another file in its folder, which need not be there. The caller frees it. */
char *self_beside(const char *name);

/* A search path without the folders in which the name is a link to this program, or to another
 * copy of it; empty parts go as well. The caller frees it. */
char *self_path_without(const char *path, const char *name);
