/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A file that is written under no name and put in its place when it is complete. Until then an
 * existing file stays unchanged, and a dropped draft leaves nothing.
 *
 * A regular file is replaced in one step, by another inode with its mode, attributes and access
 * lists. A rename is not possible for a file with several names, a mount, or a link to a missing
 * file. It is not possible either in a directory that takes no new file. Then the bytes are copied
 * into the file when all have arrived.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "agent/common/rpc_error.h"
#include "agent/common/users.h"

/* Prefix of the names that drafts have for an instant; watchers do not see them. */
#define DRAFT_PREFIX ".sandlot-upload."

struct draft {
    int fd;         /* -1: dropped */
    char *target;   /* the path as it was given */
    char *place;    /* the same without links; NULL: copied into the target */
    char *name;     /* of the draft, on a file system without nameless files */
    bool replaces;  /* something was there */
    bool room_made; /* a commit was forced once */
    const struct user *user;
    const json_t *metadata; /* files.h */
};

/* Begin a file that will belong to the user; both are borrowed until the end. RPC_INVALID_ARGUMENT:
 * not a regular file. */
int draft_begin(struct draft *draft, const char *path, const struct user *user,
                const json_t *metadata, struct rpc_error *error);

int draft_write(struct draft *draft, const char *data, size_t size, struct rpc_error *error);

/* Put it in its place. It must be dropped afterwards, as after every error. */
int draft_place(struct draft *draft, struct rpc_error *error);

void draft_drop(struct draft *draft);
