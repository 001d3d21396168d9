/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "ctl/backup.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/json_make.h"
#include "base/mem.h"
#include "base/printable.h"
#include "base/str.h"
#include "crypto/crypto.h"

#define FORMAT        1
#define MANIFEST      "manifest.json"
#define READ_SIZE     ((size_t)1 << 20)
#define MANIFEST_MODE 0600

static const char *const backup_kind_names[] = {"database", "keyring", "volume", "instance"};

static void file_deinit(struct backup_file *file)
{
    free(file->path);
    free(file->host);
    free(file->name);
    free(file->of);
    free(file->stamp);
}

void backup_deinit(struct backup *backup)
{
    for (size_t i = 0; i < backup->count; i++)
        file_deinit(&backup->files[i]);
    free(backup->files);
    free(backup->directory);
    free(backup->made_at);
    json_decref(backup->left_out);
    *backup = (struct backup){0};
}

void backup_begin(struct backup *backup, const char *directory, unsigned schema_version)
{
    char now[CLOCK_ISO8601_SIZE];
    *backup = (struct backup){
        .directory = xstrdup(directory),
        .made_at = xstrdup(clock_format_iso8601(clock_now_ms(), now)),
        .schema_version = schema_version,
        .left_out = json_array(),
    };
}

void backup_add(struct backup *backup, const struct backup_file *file)
{
    backup->files = xreallocarray(backup->files, backup->count + 1, sizeof *file);
    backup->files[backup->count++] = *file;
}

void backup_leave_out(struct backup *backup, const char *id, const char *reason)
{
    json_array_append_new(backup->left_out, json_pack("{s:s, s:s}", "id", id, "reason", reason));
}

const struct backup_file *backup_find(const struct backup *backup, enum backup_kind kind,
                                      const char *host, const char *name)
{
    for (size_t i = 0; i < backup->count; i++) {
        const struct backup_file *file = &backup->files[i];
        if (file->kind == kind && str_equal(file->host, host) && str_equal(file->name, name))
            return file;
    }
    return NULL;
}

char *backup_path(const struct backup *backup, const char *path)
{
    return xasprintf("%s/%s", backup->directory, path);
}

/* --- hashes --- */

static int hash_file(const char *path, uint64_t *size, char sha256[BACKUP_SHA256_SIZE],
                     struct error **err)
{
    crypto_hash_sha256_state state;
    unsigned char digest[crypto_hash_sha256_BYTES];
    autofree unsigned char *room = xmalloc(READ_SIZE);
    autofclose FILE *file = fopen(path, "re");
    size_t got;
    if (!file)
        return error_set_errno(err, ERR_CONFIG, errno, "cannot read %s", path);
    crypto_init();
    crypto_hash_sha256_init(&state);
    *size = 0;
    while ((got = fread(room, 1, READ_SIZE, file)) > 0) {
        crypto_hash_sha256_update(&state, room, got);
        *size += got;
    }
    if (ferror(file))
        return error_set_errno(err, ERR_CONFIG, errno, "cannot read %s", path);
    crypto_hash_sha256_final(&state, digest);
    sodium_bin2hex(sha256, BACKUP_SHA256_SIZE, digest, sizeof digest);
    return 0;
}

static int sync_path(const char *path, int flags, struct error **err)
{
    autoclose int fd = open(path, O_RDONLY | O_CLOEXEC | flags);
    return fd >= 0 && fsync(fd) == 0
               ? 0
               : error_set_errno(err, ERR_CONFIG, errno, "cannot write %s to the disk", path);
}

int backup_seal_file(const struct backup *backup, struct backup_file *file, struct error **err)
{
    autofree char *path = backup_path(backup, file->path);
    return sync_path(path, 0, err) < 0 ? -1 : hash_file(path, &file->size, file->sha256, err);
}

static int verify_file(const struct backup *backup, const struct backup_file *file,
                       struct error **err)
{
    autofree char *path = backup_path(backup, file->path);
    char sha256[BACKUP_SHA256_SIZE];
    uint64_t size;
    if (hash_file(path, &size, sha256, err) < 0)
        return -1;
    if (size != file->size)
        return error_set(err, ERR_CONFIG, "%s has %llu bytes, but the backup's list says %llu",
                         path, (unsigned long long)size, (unsigned long long)file->size);
    return str_equal(sha256, file->sha256)
               ? 0
               : error_set(err, ERR_CONFIG,
                           "%s is damaged: its hash differs from the backup's list", path);
}

void backup_show_work(const struct backup *backup, const struct backup_file *file, const char *work)
{
    printable_print(stderr, "%zu of %zu: %s %s\n", (size_t)(file - backup->files) + 1,
                    backup->count, work, *file->of ? file->of : file->path);
}

int backup_verify(const struct backup *backup, struct error **err)
{
    for (size_t i = 0; i < backup->count; i++) {
        backup_show_work(backup, &backup->files[i], "reading");
        if (verify_file(backup, &backup->files[i], err) < 0)
            return -1;
    }
    return 0;
}

/* --- manifest --- */

static json_t *file_json(const struct backup_file *file)
{
    return json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:b, s:I, s:s}", "kind",
                     backup_kind_names[file->kind], "path", file->path, "host", file->host, "name",
                     file->name, "of", file->of, "stamp", file->stamp, "reused", file->reused,
                     "size", (json_int_t)file->size, "sha256", file->sha256);
}

static int write_manifest(const struct backup *backup, struct error **err)
{
    autofree char *path = backup_path(backup, MANIFEST);
    json_t *files = JSON_LIST(backup->files, backup->count, file_json);
    json_auto_t *manifest =
        json_pack("{s:i, s:s, s:s, s:i, s:o, s:O}", "format", FORMAT, "made_by", PACKAGE_VERSION,
                  "made_at", backup->made_at, "schema_version", (int)backup->schema_version,
                  "files", files, "left_out", backup->left_out);
    if (json_dump_file(manifest, path, JSON_INDENT(2)) < 0)
        return error_set_errno(err, ERR_CONFIG, errno, "cannot write %s", path);
    chmod(path, MANIFEST_MODE);
    return sync_path(path, 0, err);
}

int backup_finish(struct backup *backup, const char *directory, struct error **err)
{
    autofree char *parent = xasprintf("%s/..", directory);
    if (write_manifest(backup, err) < 0 || sync_path(backup->directory, O_DIRECTORY, err) < 0)
        return -1;
    /* A folder with the same name that appeared meanwhile stays, unless it is empty. */
    if (rename(backup->directory, directory) < 0)
        return error_set_errno(err, ERR_CONFIG, errno, "cannot rename the backup in %s to %s",
                               backup->directory, directory);
    return sync_path(parent, O_DIRECTORY, err);
}

static bool find_kind(const char *name, enum backup_kind *kind)
{
    for (unsigned i = 0; i < ARRAY_SIZE(backup_kind_names); i++)
        if (str_equal(name, backup_kind_names[i])) {
            *kind = (enum backup_kind)i;
            return true;
        }
    return false;
}

/* Below the folder, and nowhere else. */
static bool is_inside(const char *path)
{
    return *path && *path != '/' && !str_starts_with(path, "../") && !strstr(path, "/../");
}

static int read_file(struct backup *backup, json_t *json)
{
    const char *kind, *path, *host, *name, *of, *stamp, *sha256;
    json_int_t size;
    int reused;
    struct backup_file file = {0};
    if (json_unpack(json, "{s:s, s:s, s:s, s:s, s:s, s:s, s:b, s:I, s:s}", "kind", &kind, "path",
                    &path, "host", &host, "name", &name, "of", &of, "stamp", &stamp, "reused",
                    &reused, "size", &size, "sha256", &sha256) < 0 ||
        !find_kind(kind, &file.kind) || !is_inside(path) || size < 0 ||
        strlen(sha256) != BACKUP_SHA256_SIZE - 1)
        return -1;
    file.path = xstrdup(path);
    file.host = xstrdup(host);
    file.name = xstrdup(name);
    file.of = xstrdup(of);
    file.stamp = xstrdup(stamp);
    file.reused = reused;
    file.size = (uint64_t)size;
    memcpy(file.sha256, sha256, BACKUP_SHA256_SIZE);
    backup_add(backup, &file);
    return 0;
}

static int read_manifest(struct backup *backup, json_t *manifest)
{
    const char *made_at;
    int format, schema_version;
    json_t *files, *left_out, *file;
    size_t i;
    if (json_unpack(manifest, "{s:i, s:s, s:i, s:o, s:o}", "format", &format, "made_at", &made_at,
                    "schema_version", &schema_version, "files", &files, "left_out",
                    &left_out) < 0 ||
        format != FORMAT || schema_version < 1 || !json_is_array(files) || !json_is_array(left_out))
        return -1;
    backup->made_at = xstrdup(made_at);
    backup->schema_version = (unsigned)schema_version;
    backup->left_out = json_incref(left_out);
    json_array_foreach (files, i, file)
        if (read_file(backup, file) < 0)
            return -1;
    return backup_find(backup, BACKUP_DATABASE, "", "") ? 0 : -1;
}

int backup_load(struct backup *backup, const char *directory, struct error **err)
{
    *backup = (struct backup){.directory = xstrdup(directory)};
    autofree char *path = backup_path(backup, MANIFEST);
    json_error_t wrong;
    json_auto_t *manifest = json_load_file(path, JSON_REJECT_DUPLICATES, &wrong);
    if (!manifest && access(path, R_OK) != 0)
        return error_set_errno(err, ERR_CONFIG, errno,
                               "%s is not a complete backup: cannot read %s", directory, path);
    if (!manifest)
        return error_set(err, ERR_CONFIG, "%s is not JSON: line %d: %s", path, wrong.line,
                         wrong.text);
    return read_manifest(backup, manifest) == 0
               ? 0
               : error_set(err, ERR_CONFIG, "%s is a manifest of another version of sandlot", path);
}
