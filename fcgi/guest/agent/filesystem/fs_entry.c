/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/filesystem/fs_entry.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "agent/common/paths.h"
#include "agent/common/proto.h"
#include "agent/common/users.h"
#include "agent/files/files.h"
#include "base/mem.h"

/* As most file systems count an empty one. */
#define DIRECTORY_SIZE      4096
#define FS_PERMISSIONS_SIZE 24

/* "-rw-r--r--", "drwxr-xr-x", "Lrwxrwxrwx", "dtrwxrwxrwx". Returns out. */
static const char *fs_permissions(mode_t mode, char out[FS_PERMISSIONS_SIZE])
{
    static const struct {
        mode_t mask, value;
        const char *letters;
    } kinds[] = {
        {S_IFMT, S_IFDIR, "d"},  {S_IFMT, S_IFLNK, "L"},  {S_IFMT, S_IFBLK, "D"},
        {S_IFMT, S_IFIFO, "p"},  {S_IFMT, S_IFSOCK, "S"}, {S_ISUID, S_ISUID, "u"},
        {S_ISGID, S_ISGID, "g"}, {S_IFMT, S_IFCHR, "Dc"}, {S_ISVTX, S_ISVTX, "t"},
    };
    size_t size = 0;
    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
        if ((mode & kinds[i].mask) == kinds[i].value)
            for (const char *letter = kinds[i].letters; *letter; letter++)
                out[size++] = *letter;
    if (!size)
        out[size++] = '-';
    for (int bit = 8; bit >= 0; bit--)
        out[size++] = mode & (1U << bit) ? "xwr"[bit % 3] : '-';
    out[size] = '\0';
    return out;
}

/* Return the type and the mode for a reader: a link has those of its target. 0: a broken link. */
static mode_t mode_of(const char *path, const struct stat *status)
{
    struct stat target;
    if (!S_ISLNK(status->st_mode))
        return status->st_mode;
    return stat(path, &target) == 0 ? target.st_mode : 0;
}

/* Return NULL if it is neither a file nor a directory. */
static const char *type_of(mode_t mode)
{
    return S_ISREG(mode) ? "FILE_TYPE_FILE" : S_ISDIR(mode) ? "FILE_TYPE_DIRECTORY" : NULL;
}

static void add_link_target(json_t *entry, const char *path)
{
    autofree char *target = realpath(path, NULL);
    if (!target) {
        target = xcalloc(1, PATH_MAX + 1);
        if (readlink(path, target, PATH_MAX) < 0)
            return;
    }
    json_object_set_new(entry, "symlinkTarget", proto_text(target));
}

static json_t *timestamp(const struct timespec *at)
{
    char text[64];
    struct tm tm;
    /* RFC 3339 knows four digits of a year. */
    if (!gmtime_r(&at->tv_sec, &tm) || tm.tm_year < -1899 || tm.tm_year > 8099)
        gmtime_r(&(time_t){0}, &tm);
    size_t size = strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &tm);
    snprintf(text + size, sizeof text - size, ".%09ldZ", at->tv_nsec);
    return json_string(text);
}

/* Some file systems count nothing for a directory, where clients expect a block. */
static off_t size_of(const struct stat *status)
{
    return S_ISDIR(status->st_mode) && !status->st_size ? DIRECTORY_SIZE : status->st_size;
}

json_t *fs_entry(const char *path, const struct stat *status)
{
    char permissions[FS_PERMISSIONS_SIZE], size[24];
    snprintf(size, sizeof size, "%jd", (intmax_t)size_of(status));
    json_t *entry = json_object();
    json_object_set_new(entry, "name", proto_text(paths_base(path)));
    mode_t mode = mode_of(path, status);
    const char *type = type_of(mode);
    if (type)
        json_object_set_new(entry, "type", json_string(type));
    json_object_set_new(entry, "path", proto_text(path));
    json_object_set_new(entry, "size", json_string(size));
    json_object_set_new(entry, "mode", json_integer(mode & 0777));
    json_object_set_new(entry, "permissions",
                        json_string(fs_permissions(status->st_mode, permissions)));
    json_object_set_new(entry, "owner", proto_text(users_name_of_uid(status->st_uid)));
    json_object_set_new(entry, "group", proto_text(users_name_of_gid(status->st_gid)));
    json_object_set_new(entry, "modifiedTime", timestamp(&status->st_mtim));
    if (S_ISLNK(status->st_mode))
        add_link_target(entry, path);
    json_t *metadata = S_ISREG(status->st_mode) ? files_metadata_load(path) : NULL;
    if (metadata)
        json_object_set_new(entry, "metadata", metadata);
    return entry;
}

int fs_entry_at(const char *path, json_t **entry, struct rpc_error *error)
{
    struct stat status;
    if (lstat(path, &status) < 0)
        return rpc_error_set_errno(error, rpc_errno_of_reading(errno),
                                   "cannot read the metadata of '%s'", path);
    *entry = fs_entry(path, &status);
    return 0;
}
