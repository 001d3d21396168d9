/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A folder of this machine and one of a sandbox, compared: files are equal by size, time and mode,
 * links by their target. An interrupted copy therefore continues with the missing files.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <sys/stat.h>

#include "base/buffer.h"
#include "cli/api.h"

struct tree {
    struct cli *cli;
    const struct session *session;
    const char *here;  /* the folder of this machine */
    const char *there; /* that of the sandbox, absolute, without empty, "." and ".." parts */
    json_t *entries;   /* path below there: a text that equal files have in common */
    json_t *links;     /* path below the remote folder: target of the link */
};

void tree_init(struct tree *tree, struct cli *cli, const struct session *session, const char *here,
               const char *there);
void tree_deinit(struct tree *tree);

/* Fill entries and links. */
int tree_list(struct tree *tree, struct error **err);

/* Take the entries of an answer to ListDir. The paths of its folders are added to folders, if that
 * is not NULL. */
int tree_take_list(struct tree *tree, const struct buffer *answer, json_t *folders,
                   struct error **err);

/* Return whether an entry is a folder, and not a link to one. */
bool tree_has_folder(const struct tree *tree, const char *path);

/* Call take() for each file, folder and link here, a folder before its contents. Equal entries are
 * removed from entries. */
typedef int tree_take(void *context, const char *path, const struct stat *here, bool differs,
                      struct error **err);
int tree_walk(struct tree *tree, tree_take *take, void *context, struct error **err);

/* Send the paths of a list, each with its NUL, and no more than they are of folders. */
int tree_send(const struct tree *tree, const struct buffer *list, struct error **err);
