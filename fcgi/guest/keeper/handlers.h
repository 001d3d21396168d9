/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The handlers in the table of routes of serve.c. */
#pragma once

#include "keeper/serve.h"

int file_get(struct request *request, struct keeper_error *error);
int file_put_begin(struct request *request, struct keeper_error *error);
int file_put_data(struct request *request, const char *data, size_t size,
                  struct keeper_error *error);
int file_put_finish(struct request *request, struct keeper_error *error);
int directory_get(struct request *request, struct keeper_error *error);
int directory_put(struct request *request, struct keeper_error *error);
int tree_get(struct request *request, struct keeper_error *error);
int path_patch(struct request *request, struct keeper_error *error);
int path_get(struct request *request, struct keeper_error *error);
int path_move(struct request *request, struct keeper_error *error);
int volume_open(struct request *request, struct keeper_error *error);
int path_delete(struct request *request, struct keeper_error *error);

/* Remove everything in a directory (tree.c), however deep and wide, while the fence allows it.
 * Return 0, or 1 if the fence ended it, or -1 with errno. */
int tree_empty(int directory, struct fence *fence, uint64_t generation);
