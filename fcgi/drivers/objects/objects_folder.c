/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A folder as storage, such as a mount of NFS. An object is there under its name when it is whole
 * and on the disk; until then its name ends in ".partial".
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "objects/objects_internal.h"

/* The dispatcher writes, and the workers of the API read: other users, of the same group. */
#define FILE_MODE   0640
#define FOLDER_MODE 0750
#define PARTIAL     "partial"
#define STEP_BYTES  ((size_t)1 << 20) /* between two ticks */

struct folder {
    struct objects base;
    char *path;
};

static struct folder *folder_of(struct objects *objects)
{
    return (struct folder *)objects;
}

static char *path_of(struct objects *objects, const char *key)
{
    return xasprintf("%s/%s", folder_of(objects)->path, key);
}

/* No other process writes to it, not even a delayed one with the same object. */
static char *partial_path(const struct objects_upload *upload)
{
    return xasprintf("%s/%s.%s", folder_of(upload->objects)->path, upload->key, upload->name);
}

static int failed(int errnum, const char *path, struct error **err)
{
    switch (errnum) {
    case ENOENT:
        return error_set(err, ERR_NOT_FOUND, "the file %s does not exist", path);
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
        return error_set_errno(err, ERR_INSUFFICIENT_STORAGE, errnum, "%s", path);
    case EACCES:
    case EPERM:
    case EROFS:
    case ENOTDIR:
        return error_set_errno(err, ERR_CONFIG, errnum, "%s", path);
    default:
        return error_set_errno(err, ERR_RUNTIME_UNAVAILABLE, errnum, "%s", path);
    }
}

/* The folder itself is never made: where a mount is away, its mount point is not written to. */
static int check_folder(struct objects *objects, struct error **err)
{
    const char *path = folder_of(objects)->path;
    struct stat info;
    if (stat(path, &info) == 0 && S_ISDIR(info.st_mode))
        return 0;
    return error_set_errno(err, ERR_RUNTIME_UNAVAILABLE, errno,
                           "cannot find the folder %s; is its file system mounted?", path);
}

static int make_parent(struct objects *objects, const char *path, struct error **err)
{
    autofree char *copy = xstrdup(path);
    const char *parent = dirname(copy);
    if (check_folder(objects, err) < 0)
        return -1;
    return mkdir(parent, FOLDER_MODE) == 0 || errno == EEXIST ? 0 : failed(errno, parent, err);
}

static int sync_parent(const char *path, struct error **err)
{
    autofree char *copy = xstrdup(path);
    const char *parent = dirname(copy);
    autoclose int fd = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return fd >= 0 && fsync(fd) == 0 ? 0 : failed(errno, parent, err);
}

/* --- writing --- */

static int write_all(struct objects *objects, int fd, const char *data, size_t size,
                     const char *path, struct error **err)
{
    for (size_t done = 0; done < size;) {
        size_t step = size - done < STEP_BYTES ? size - done : STEP_BYTES;
        ssize_t written = write(fd, data + done, step);
        if (written < 0 && errno != EINTR)
            return failed(errno, path, err);
        done += written > 0 ? (size_t)written : 0;
        if (objects_tick_now(objects, err) < 0)
            return -1;
    }
    return 0;
}

static int folder_upload_begin(struct objects_upload *upload, struct error **err)
{
    upload->name =
        xasprintf("%ld-%llx." PARTIAL, (long)getpid(), (unsigned long long)clock_monotonic_us());
    autofree char *path = partial_path(upload);
    if (make_parent(upload->objects, path, err) < 0)
        return -1;
    upload->fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, FILE_MODE);
    return upload->fd >= 0 ? 0 : failed(errno, path, err);
}

static int folder_upload_part(struct objects_upload *upload, const void *data, size_t size,
                              struct error **err)
{
    autofree char *path = partial_path(upload);
    return write_all(upload->objects, upload->fd, data, size, path, err);
}

static int folder_upload_finish(struct objects_upload *upload, struct error **err)
{
    autofree char *from = partial_path(upload);
    autofree char *to = path_of(upload->objects, upload->key);
    if (fsync(upload->fd) < 0 || rename(from, to) < 0)
        return failed(errno, from, err);
    return sync_parent(to, err);
}

static int folder_remove(struct objects *objects, const char *key, struct error **err)
{
    autofree char *path = path_of(objects, key);
    if (check_folder(objects, err) < 0)
        return -1;
    return unlink(path) == 0 ? 0 : failed(errno, path, err);
}

static int folder_upload_abandon(struct objects *objects, const char *key, const char *name,
                                 struct error **err)
{
    autofree char *partial = xasprintf("%s.%s", key, name);
    return folder_remove(objects, partial, err);
}

static int folder_put(struct objects *objects, const char *key, const void *data, size_t size,
                      struct error **err)
{
    struct objects_upload upload = {.objects = objects, .key = (char *)(uintptr_t)key, .fd = -1};
    int result = folder_upload_begin(&upload, err);
    if (result == 0)
        result = folder_upload_part(&upload, data, size, err);
    if (result == 0)
        result = folder_upload_finish(&upload, err);
    autofree char *partial = partial_path(&upload);
    if (result < 0)
        unlink(partial);
    cleanup_close_(&upload.fd);
    free(upload.name);
    return result;
}

/* --- reading --- */

static int read_all(struct objects *objects, int fd, uint64_t offset, char *data, size_t size,
                    size_t *got, struct error **err)
{
    ssize_t count = 1;
    while (*got < size && count) {
        size_t step = size - *got < STEP_BYTES ? size - *got : STEP_BYTES;
        count = pread(fd, data + *got, step, (off_t)(offset + *got));
        if (count < 0 && errno != EINTR)
            return error_set_errno(err, ERR_RUNTIME_UNAVAILABLE, errno, "cannot read the folder");
        *got += count > 0 ? (size_t)count : 0;
        if (objects_tick_now(objects, err) < 0)
            return -1;
    }
    return 0;
}

static int folder_read(struct objects *objects, const char *key, uint64_t offset, void *data,
                       size_t size, size_t *got, struct error **err)
{
    autofree char *path = path_of(objects, key);
    if (check_folder(objects, err) < 0)
        return -1;
    autoclose int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return failed(errno, path, err);
    return read_all(objects, fd, offset, data, size, got, err);
}

/* --- listing --- */

struct listing {
    struct objects *objects;
    const char *folder;
    int (*act)(void *context, const struct objects_listed *one, struct error **err);
    void *context;
};

static int list_one(const struct listing *listing, int fd, const char *name, struct error **err)
{
    autofree char *key = xasprintf("%s/%s", listing->folder, name);
    struct stat info;
    if (fstatat(fd, name, &info, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(info.st_mode))
        return 0; /* gone meanwhile, or none of ours */
    const struct objects_listed one = {
        .key = key,
        .size = (uint64_t)info.st_size,
        .modified_at_ms = (int64_t)info.st_mtim.tv_sec * 1000,
    };
    return listing->act(listing->context, &one, err);
}

static int list_all(const struct listing *listing, DIR *directory, struct error **err)
{
    const struct dirent *entry;
    int result = 0;
    while (result == 0 && (entry = readdir(directory)))
        if (entry->d_name[0] != '.')
            result = objects_tick_now(listing->objects, err) < 0
                         ? -1
                         : list_one(listing, dirfd(directory), entry->d_name, err);
    return result;
}

static int folder_each(struct objects *objects, const char *folder,
                       int (*act)(void *context, const struct objects_listed *one,
                                  struct error **err),
                       void *context, struct error **err)
{
    struct listing listing = {objects, folder, act, context};
    autofree char *path = path_of(objects, folder);
    if (check_folder(objects, err) < 0)
        return -1;
    DIR *directory = opendir(path);
    if (!directory)
        return errno == ENOENT ? 0 : failed(errno, path, err);
    int result = list_all(&listing, directory, err);
    closedir(directory);
    return result;
}

/* --- opening --- */

static void folder_close(struct objects *objects)
{
    free(folder_of(objects)->path);
    free(objects);
}

static const struct objects_ops folder_ops = {
    .close = folder_close,
    .put = folder_put,
    .read = folder_read,
    .remove = folder_remove,
    .each = folder_each,
    .upload_begin = folder_upload_begin,
    .upload_part = folder_upload_part,
    .upload_finish = folder_upload_finish,
    .upload_abandon = folder_upload_abandon,
};

int objects_open_folder(const struct objects_place *place, struct objects **objects,
                        struct error **err)
{
    struct folder *folder = xcalloc(1, sizeof *folder);
    (void)err;
    folder->base.ops = &folder_ops;
    folder->base.url = xstrdup(place->url);
    folder->path = xstrdup(place->url);
    *objects = &folder->base;
    return 0;
}
