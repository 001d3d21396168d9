/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "recipe/recipe_file.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "account/account.h"
#include "base/clock.h"
#include "base/mem.h"
#include "recipe/recipe_listing.h"

#define KEPT_MS       (24 * 3600 * (uint64_t)1000)
#define LISTING_LEAST ((size_t)64 << 10) /* bytes that any archive may have */
#define LISTING_MOST  ((size_t)4 << 20)

#define COLUMNS       "SELECT id, team_id, hash, size, is_whole, content_hash FROM recipe_files"
DB_STATEMENT(find_statement) = {
    "recipe_file.find",
    COLUMNS " WHERE team_id = ? AND hash = ? AND is_whole = 1 ORDER BY id DESC LIMIT 1"};
DB_STATEMENT(get_statement) = {"recipe_file.get", COLUMNS " WHERE id = ?"};
DB_STATEMENT(expected_statement) = {
    "recipe_file.expected",
    COLUMNS " WHERE team_id = ? AND hash = ? AND is_whole = 0 AND size = 0 LIMIT 1"};
DB_STATEMENT(used_statement) = {"recipe_file.used",
                                "UPDATE recipe_files SET used_at_ms = ? WHERE id = ?"};
DB_STATEMENT(sum_statement) = {
    "recipe_file.sum", "SELECT COUNT(*), CAST(COALESCE(SUM(size), 0) AS UNSIGNED) FROM recipe_files"
                       " WHERE team_id = ?"};
DB_STATEMENT(insert_statement) = {
    "recipe_file.insert",
    "INSERT INTO recipe_files (id, team_id, hash, used_at_ms) VALUES (?, ?, ?, ?)"};
/* From then on, only this caller writes the archive. */
DB_STATEMENT(claim_statement) = {
    "recipe_file.claim",
    "UPDATE recipe_files SET size = ?, used_at_ms = ? WHERE id = ? AND is_whole = 0 AND size = 0"};
DB_STATEMENT(part_statement) = {
    "recipe_file.part", "INSERT INTO recipe_file_parts (file_id, number, data) VALUES (?, ?, ?)"};
DB_STATEMENT(whole_statement) = {
    "recipe_file.whole",
    "UPDATE recipe_files SET is_whole = 1, content_hash = ?, listing = ?, used_at_ms = ?"
    " WHERE id = ? AND is_whole = 0"};
DB_STATEMENT(older_statement) = {
    "recipe_file.older",
    "DELETE FROM recipe_files WHERE team_id = ? AND hash = ? AND is_whole = 1 AND id < ?"};
DB_STATEMENT(delete_statement) = {"recipe_file.delete", "DELETE FROM recipe_files WHERE id = ?"};
DB_STATEMENT(read_statement) = {
    "recipe_file.read", "SELECT data FROM recipe_file_parts WHERE file_id = ? AND number = ?"};
DB_STATEMENT(listing_statement) = {"recipe_file.listing",
                                   "SELECT COALESCE(listing, '') FROM recipe_files WHERE id = ?"};
DB_STATEMENT(purge_statement) = {"recipe_file.purge",
                                 "DELETE FROM recipe_files WHERE used_at_ms < ? LIMIT 20"};

bool recipe_hash_is_valid(const char *hash)
{
    size_t length = strlen(hash);
    return length >= RECIPE_HASH_MIN && length <= RECIPE_HASH_MAX &&
           strspn(hash, "0123456789abcdef") == length;
}

static void read_row(const struct db_rows *rows, struct recipe_file *file)
{
    db_copy_text(file->id, rows, 0);
    db_copy_text(file->team_id, rows, 1);
    db_copy_text(file->hash, rows, 2);
    file->size = db_get_u64(rows, 3);
    file->is_whole = db_get_bool(rows, 4);
    db_copy_text(file->content_hash, rows, 5);
}

int recipe_file_find(struct db *db, const char *team_id, const char *hash, struct recipe_file *file,
                     bool *found, struct error **err)
{
    db_rows_auto *rows = NULL;
    if (db_query(db, &find_statement, DB_ARGS(db_text(team_id), db_text(hash)), &rows, err) < 0)
        return -1;
    *found = db_rows_next(rows);
    if (!*found)
        return 0;
    read_row(rows, file);
    return db_exec(db, &used_statement, DB_ARGS(db_i64(clock_now_ms()), db_text(file->id)), NULL,
                   err);
}

int recipe_file_get(struct db *db, const char *id, struct recipe_file *file, struct error **err)
{
    db_rows_auto *rows = NULL;
    if (db_query_row(db, &get_statement, DB_ARGS(db_text(id)), "There is no such archive.", &rows,
                     err) < 0)
        return -1;
    read_row(rows, file);
    return 0;
}

/* --- making and writing --- */

/* With the team's row locked, so that the sum stays valid. */
static int check_room(struct db *db, const char *team_id, int64_t size, struct error **err)
{
    struct plan plan;
    db_rows_auto *rows = NULL;
    if (team_lock(db, team_id, &plan, err) < 0 ||
        db_query(db, &sum_statement, DB_ARGS(db_text(team_id)), &rows, err) < 0)
        return -1;
    db_rows_next(rows);
    if (db_get_u64(rows, 0) < RECIPE_FILES_MOST && db_get_i64(rows, 1) + size <= RECIPE_FILES_MAX)
        return 0;
    error_set(err, ERR_BUILD_QUOTA_EXCEEDED,
              "A team has at most %d archives for template builds, of %lld MiB together. sandlot "
              "deletes them a day after their last use.",
              RECIPE_FILES_MOST, RECIPE_FILES_MAX >> 20);
    return error_add_limit(err, RECIPE_FILES_MOST, (unsigned)db_get_u64(rows, 0));
}

static int expect_body(struct db *db, void *context, struct error **err)
{
    struct recipe_file *file = context;
    db_rows_auto *rows = NULL;
    if (check_room(db, file->team_id, 0, err) < 0 ||
        db_query(db, &expected_statement, DB_ARGS(db_text(file->team_id), db_text(file->hash)),
                 &rows, err) < 0)
        return -1;
    if (db_rows_next(rows)) {
        db_copy_text(file->id, rows, 0);
        return db_exec(db, &used_statement, DB_ARGS(db_i64(clock_now_ms()), db_text(file->id)),
                       NULL, err);
    }
    return db_exec(db, &insert_statement,
                   DB_ARGS(db_text(file->id), db_text(file->team_id), db_text(file->hash),
                           db_i64(clock_now_ms())),
                   NULL, err);
}

int recipe_file_expect(struct db *db, const char *team_id, const char *hash,
                       struct recipe_file *file, struct error **err)
{
    *file = (struct recipe_file){.size = 0};
    id_new("rcf_", file->id);
    snprintf(file->team_id, sizeof file->team_id, "%s", team_id);
    snprintf(file->hash, sizeof file->hash, "%s", hash);
    return db_transaction(db, expect_body, file, err);
}

/* The archive is read by parts: each is stored, and listed at the same time. */
struct writing {
    struct db *db;
    struct recipe_file *file;
    const struct recipe_upload *upload;
    char *part, *listing;
    size_t part_size, part_at, left; /* bytes: in the part, listed in it, after it */
    unsigned number;
    crypto_hash_sha256_state state;
    struct error *failure;
};

static int claim_body(struct db *db, void *context, struct error **err)
{
    const struct writing *writing = context;
    const struct recipe_file *file = writing->file;
    uint64_t matched;
    if (check_room(db, file->team_id, writing->upload->size, err) < 0 ||
        db_exec(db, &claim_statement,
                DB_ARGS(db_i64(writing->upload->size), db_i64(clock_now_ms()), db_text(file->id)),
                &matched, err) < 0)
        return -1;
    return matched ? 0
                   : error_set(err, ERR_INVALID_REQUEST,
                               "This link was used already; request a new link.");
}

/* Read a whole part, or the rest of the archive. */
static int fill(const struct recipe_upload *upload, char *part, size_t wanted, struct error **err)
{
    size_t have = 0;
    while (have < wanted) {
        long got = upload->read(upload->context, part + have, wanted - have);
        if (got <= 0)
            return error_set(err, ERR_INVALID_REQUEST,
                             "The archive has fewer bytes than its Content-Length.");
        have += (size_t)got;
    }
    return 0;
}

static int store_part(struct writing *writing, struct error **err)
{
    size_t size = writing->left < RECIPE_FILE_PART ? writing->left : RECIPE_FILE_PART;
    if (fill(writing->upload, writing->part, size, err) < 0 ||
        db_exec(writing->db, &part_statement,
                DB_ARGS(db_text(writing->file->id), db_u64(writing->number),
                        db_blob(writing->part, size)),
                NULL, err) < 0)
        return -1;
    crypto_hash_sha256_update(&writing->state, (const unsigned char *)writing->part, size);
    writing->number++;
    writing->part_size = size;
    writing->part_at = 0;
    writing->left -= size;
    return 0;
}

/* For recipe_listing_make(). */
static long read_stored(void *context, char *data, size_t size)
{
    struct writing *writing = context;
    if (writing->part_at == writing->part_size) {
        if (writing->failure || !writing->left)
            return 0;
        if (store_part(writing, &writing->failure) < 0)
            return -1;
    }
    size_t have = writing->part_size - writing->part_at;
    if (have > size)
        have = size;
    memcpy(data, writing->part + writing->part_at, have);
    writing->part_at += have;
    return (long)have;
}

/* A listing is no longer than its archive, so that the bound of archives is one of listings too. */
static size_t listing_most(const struct writing *writing)
{
    size_t size = (size_t)writing->upload->size;
    return size < LISTING_LEAST ? LISTING_LEAST : size < LISTING_MOST ? size : LISTING_MOST;
}

static int write_parts(struct writing *writing, struct error **err)
{
    const struct recipe_bytes bytes = {read_stored, writing};
    unsigned char sum[crypto_hash_sha256_BYTES];
    crypto_hash_sha256_init(&writing->state);
    writing->left = (size_t)writing->upload->size;
    writing->listing = recipe_listing_make(&bytes, listing_most(writing));
    while (writing->left && !writing->failure)
        store_part(writing, &writing->failure); /* behind the end of the list */
    if (writing->failure)
        return error_move(err, &writing->failure);
    crypto_hash_sha256_final(&writing->state, sum);
    sodium_bin2hex(writing->file->content_hash, RECIPE_CONTENT_HASH_SIZE, sum, sizeof sum);
    return 0;
}

static int whole_body(struct db *db, void *context, struct error **err)
{
    const struct writing *writing = context;
    const struct recipe_file *file = writing->file;
    uint64_t matched;
    if (db_exec(db, &whole_statement,
                DB_ARGS(db_text(file->content_hash), db_text(writing->listing),
                        db_i64(clock_now_ms()), db_text(file->id)),
                &matched, err) < 0)
        return -1;
    if (!matched)
        return error_set(err, ERR_NOT_FOUND,
                         "The archive was deleted during the upload; send it again.");
    return db_exec(db, &older_statement,
                   DB_ARGS(db_text(file->team_id), db_text(file->hash), db_text(file->id)), NULL,
                   err);
}

int recipe_file_write(struct db *db, struct recipe_file *file, const struct recipe_upload *upload,
                      struct error **err)
{
    struct writing writing = {.db = db, .file = file, .upload = upload};
    error_auto ignored = NULL;
    if (upload->size <= 0)
        return error_set_field(err, ERR_INVALID_REQUEST, "Content-Length",
                               "Send the archive with a Content-Length above 0.");
    if (upload->size > RECIPE_FILE_MAX)
        return error_set(err, ERR_BODY_TOO_LARGE, "An archive has at most %lld MiB.",
                         RECIPE_FILE_MAX >> 20);
    if (db_transaction(db, claim_body, &writing, err) < 0)
        return -1;
    file->size = (uint64_t)upload->size;
    autofree char *part = writing.part = xmalloc(RECIPE_FILE_PART);
    int result = write_parts(&writing, err);
    if (result == 0)
        result = db_transaction(db, whole_body, &writing, err);
    free(writing.listing);
    if (result == 0)
        return 0;
    db_exec(db, &delete_statement, DB_ARGS(db_text(file->id)), NULL, &ignored);
    return -1;
}

/* --- reading, and the end --- */

int recipe_file_read(struct db *db, const char *id, unsigned number, struct buffer *part,
                     struct error **err)
{
    db_rows_auto *rows = NULL;
    size_t size = 0;
    if (db_query(db, &read_statement, DB_ARGS(db_text(id), db_u64(number)), &rows, err) < 0)
        return -1;
    if (!db_rows_next(rows))
        return 0;
    const void *data = db_get_blob(rows, 0, &size);
    buffer_append(part, data, size);
    return 0;
}

int recipe_file_listing(struct db *db, const char *id, json_t **listing, struct error **err)
{
    db_rows_auto *rows = NULL;
    *listing = NULL;
    if (db_query(db, &listing_statement, DB_ARGS(db_text(id)), &rows, err) < 0)
        return -1;
    if (db_rows_next(rows))
        *listing = json_loads(db_get_text(rows, 0), 0, NULL);
    return 0;
}

int recipe_files_purge(struct db *db, struct error **err)
{
    return db_exec_all(db, &purge_statement, DB_ARGS(db_i64(clock_now_ms() - (int64_t)KEPT_MS)), 20,
                       err);
}
