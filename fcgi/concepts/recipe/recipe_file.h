/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Archives (tar, gzip or not) for the steps of recipes that copy files. A client names an archive
 * by the hash of its files. The service uses the hash only as a name, and each team has its own
 * names. An archive is deleted a day after its last use.
 */
#pragma once

#include <jansson.h>

#include "base/buffer.h"
#include "base/ulid.h"
#include "db/db.h"

#define RECIPE_HASH_MIN          32
#define RECIPE_HASH_MAX          64
#define RECIPE_FILE_PART         (512 * 1024)
#define RECIPE_FILE_MAX          (128LL << 20)
#define RECIPE_FILES_MAX         (512LL << 20) /* of a team */
#define RECIPE_FILES_MOST        1000          /* of a team */

#define RECIPE_CONTENT_HASH_SIZE 65

struct recipe_file {
    char id[ID_SIZE];
    char team_id[ID_SIZE];
    char hash[RECIPE_HASH_MAX + 1];
    uint64_t size;
    bool is_whole;
    char content_hash[RECIPE_CONTENT_HASH_SIZE]; /* SHA-256 of its bytes, when it is whole */
};

/* Check for 32 to 64 lower-case hexadecimal digits. */
bool recipe_hash_is_valid(const char *hash);

/* Check that the path of a source stays inside the folder of which the archive was made. */
bool recipe_path_is_inside(const char *path);

/* Return whether a text is the name of a user, or user:group. */
bool recipe_owner_is_valid(const char *text);

/* Find the newest complete archive with this hash. This counts as a use. *found: whether there is
 * one. */
int recipe_file_find(struct db *db, const char *team_id, const char *hash, struct recipe_file *file,
                     bool *found, struct error **err);

/* Create an archive that will be written later, or find the one that waits already. Errors:
 * ERR_BUILD_QUOTA_EXCEEDED. */
int recipe_file_expect(struct db *db, const char *team_id, const char *hash,
                       struct recipe_file *file, struct error **err);

/* Read an archive's record by its id. Errors: ERR_NOT_FOUND. */
int recipe_file_get(struct db *db, const char *id, struct recipe_file *file, struct error **err);

/* Write an archive. read() returns bytes, size in all; 0 at their end, -1 when the upload broke
 * off. A failed upload deletes the archive. An older archive with the same hash is deleted. Errors:
 * ERR_BODY_TOO_LARGE, ERR_BUILD_QUOTA_EXCEEDED, ERR_INVALID_REQUEST (it is written already, or the
 * upload broke off), ERR_NOT_FOUND (deleted meanwhile). */
struct recipe_upload {
    int64_t size;
    long (*read)(void *context, char *data, size_t size);
    void *context;
};
int recipe_file_write(struct db *db, struct recipe_file *file, const struct recipe_upload *upload,
                      struct error **err);

/* Read a part of an archive, by its number from 0, into an empty buffer; no bytes behind the last
 * part. */
int recipe_file_read(struct db *db, const char *id, unsigned number, struct buffer *part,
                     struct error **err);

/* Read the listing of an archive (recipe_listing.h); a new reference. NULL: it has none. */
int recipe_file_listing(struct db *db, const char *id, json_t **listing, struct error **err);

/* Delete archives that were not used for a day, a few at once. */
int recipe_files_purge(struct db *db, struct error **err);
