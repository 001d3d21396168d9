/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What takes as long as a tree is large; run by workers. */
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

/* ListDir: an fs_message_listed, each directory before what is in it, names in byte order.
 * RPC_TOO_LARGE: there are more than GUEST_LISTED_MAX; found out before they are read. */
int fs_walk_list(const void *walk, struct buffer *answer, struct rpc_error *error);

/* Remove: everything at path; what is already gone is fine. */
int fs_walk_remove(const void *walk, struct buffer *answer, struct rpc_error *error);
