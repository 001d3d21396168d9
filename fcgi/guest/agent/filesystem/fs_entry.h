/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A file as filesystem.Filesystem describes it. */
#pragma once

#include <jansson.h>
#include <sys/stat.h>

#include "agent/common/rpc_error.h"

/* Create the EntryInfo for path; status is its lstat(). Never NULL. */
json_t *fs_entry(const char *path, const struct stat *status);

/* Do the same, looking first. RPC_NOT_FOUND and others when there is nothing to see. */
int fs_entry_at(const char *path, json_t **entry, struct rpc_error *error);
