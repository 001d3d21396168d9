/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Archives (tar, gzip or not) that steps of recipes copy from. A client names one by the hash that
 * it has made of its files, which is a name and nothing more: it means something to its team alone.
 * They are kept for a day after they were last asked for.
 */
#pragma once

#include "base/buffer.h"
#include "base/ulid.h"
#include "db/db.h"

#define RECIPE_HASH_MIN   32
#define RECIPE_HASH_MAX   64
#define RECIPE_FILE_PART  (512 * 1024)
#define RECIPE_FILE_MAX   (128LL << 20)
#define RECIPE_FILES_MAX  (512LL << 20) /* of a team */
#define RECIPE_FILES_MOST 1000          /* of a team */

struct recipe_file {
    char id[ID_SIZE];
    char team_id[ID_SIZE];
    char hash[RECIPE_HASH_MAX + 1];
    uint64_t size;
    bool is_whole;
};

/* 32 to 64 lower-case hexadecimal digits. */
bool recipe_hash_is_valid(const char *hash);

/* The newest whole one of that hash, which counts as asked for. *found. */
int recipe_file_find(struct db *db, const char *team_id, const char *hash, struct recipe_file *file,
                     bool *found, struct error **err);

/* One that is to be written later: made, or the one that waits already. Errors:
 * ERR_SANDBOX_QUOTA_EXCEEDED. */
int recipe_file_expect(struct db *db, const char *team_id, const char *hash,
                       struct recipe_file *file, struct error **err);

/* One by its id. Errors: ERR_NOT_FOUND. */
int recipe_file_get(struct db *db, const char *id, struct recipe_file *file, struct error **err);

/* Write it: read() gives the bytes, size in all; 0 at their end, -1 when they broke off. What had
 * that hash before goes. Errors: ERR_BODY_TOO_LARGE, ERR_SANDBOX_QUOTA_EXCEEDED,
 * ERR_INVALID_REQUEST (it is written already, or broke off). */
struct recipe_upload {
    int64_t size;
    long (*read)(void *context, char *data, size_t size);
    void *context;
};
int recipe_file_write(struct db *db, struct recipe_file *file, const struct recipe_upload *upload,
                      struct error **err);

/* Part number of one, from 0, into an empty buffer; no bytes behind the last. */
int recipe_file_read(struct db *db, const char *id, unsigned number, struct buffer *part,
                     struct error **err);

/* Remove those that nobody has asked for lately, a few at once. */
int recipe_files_purge(struct db *db, struct error **err);
