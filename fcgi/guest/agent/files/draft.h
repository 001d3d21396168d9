/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A file that is written out of sight and put in its place when it is whole. Until then whatever
 * has that name stays as it is, and a draft that is dropped leaves nothing.
 *
 * A regular file is replaced in one step, by another inode with its mode, attributes and access
 * lists. Where a rename would not do (a file of several names, one that is mounted on, a link to
 * nothing, a directory that takes no new file) the bytes are copied into it once they are all
 * there.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "agent/common/rpc_error.h"
#include "agent/common/users.h"

/* How the names begin that drafts have for an instant; nobody is told of them. */
#define DRAFT_PREFIX ".sandlot-upload."

struct draft {
    int fd;         /* -1: dropped */
    char *target;   /* the path as it was given */
    char *place;    /* the same without links; NULL: copied into the target */
    char *name;     /* of the draft, on a file system without nameless files */
    bool replaces;  /* something was there */
    bool room_made; /* what was removed was given back once */
    const struct user *user;
    const json_t *metadata; /* files.h */
};

/* Begin a file that will belong to the user; both are borrowed until the end. What is no regular
 * file is RPC_INVALID_ARGUMENT. */
int draft_begin(struct draft *draft, const char *path, const struct user *user,
                const json_t *metadata, struct rpc_error *error);

int draft_write(struct draft *draft, const char *data, size_t size, struct rpc_error *error);

/* Put it in its place. It must be dropped afterwards, as after every error. */
int draft_place(struct draft *draft, struct rpc_error *error);

void draft_drop(struct draft *draft);
