/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Calls whose time grows with the size of a tree; workers run them. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "agent/common/rpc_error.h"
#include "base/buffer.h"

struct fs_walk {
    const char *path; /* absolute */
    int64_t depth;    /* of a listing: levels below path */
    bool binary;      /* the form of the answer */
};

/* List a directory (ListDir): an fs_message_listed, each directory before its entries, names in
 * byte order. RPC_TOO_LARGE: there are more than GUEST_LISTED_MAX; checked before they are read. */
int fs_walk_list(const void *walk, struct buffer *answer, struct rpc_error *error);

/* Remove: everything at path; a missing path is not an error. */
int fs_walk_remove(const void *walk, struct buffer *answer, struct rpc_error *error);
