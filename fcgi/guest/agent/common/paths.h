/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Paths as clients write them: absolute, relative to a user's home, or with a leading "~". */
#pragma once

#include "agent/common/rpc_error.h"

#define PATH_LENGTH_MAX 4095

struct user;

/* Find the absolute path that text means for a user, without "." and "..", doubled or trailing
 * slashes. These are removed in the text, as `cd` shows paths, and links are not followed. Empty
 * text is the home. *path is the caller's. RPC_INVALID_ARGUMENT: too long, or somebody else's
 * "~name". */
int paths_resolve(const char *text, const struct user *user, char **path, struct rpc_error *error);

/* Return the part after the last slash; "/" for the root. */
const char *paths_base(const char *path);

/* Make a directory and the parents it lacks (0755); those that were made belong to the user.
 * A directory that is there already is fine. */
int paths_make_directories(const char *path, const struct user *user, struct rpc_error *error);

/* Do the same, for the directory that path would stand in. */
int paths_make_parents(const char *path, const struct user *user, struct rpc_error *error);
