/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The context of a Dockerfile: an archive of a folder, without the files of .dockerignore. */
#pragma once

#include <stdint.h>
#include <stdio.h>

#include "cli/cli.h"

#define CONTEXT_BYTES_MAX   (128LL << 20) /* of the archive */
#define CONTEXT_ENTRIES_MAX 200000
#define CONTEXT_HASH_SIZE   65

struct context {
    FILE *archive; /* a temporary file; NULL: not packed yet */
    int64_t size;
    char hash[CONTEXT_HASH_SIZE]; /* SHA-256 of the archive, in hexadecimal digits */
};

/* Pack a folder. The same files make the same archive. ignore_file: the path of a .dockerignore; it
 * need not exist. The caller calls context_deinit(). */
int context_pack(struct context *context, const char *folder, const char *ignore_file,
                 struct error **err);

/* Send the archive to the deployment. team may be NULL. */
int context_upload(struct cli *cli, struct context *context, const char *team, struct error **err);

void context_deinit(struct context *context);
