/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/unpack.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/mem.h"
#include "base/tar_reader.h"

#define FOLDERS_MAX (256U << 20) /* bytes of the remembered folders */
#define PIECE       (64 * 1024)

/* A folder whose mode and time are set at the end: it may have to be written to before, and writing
 * changes its time. Its path, with its NUL, follows. */
struct folder {
    mode_t mode;
    struct timespec modified;
    size_t path_size;
};

struct unpacking {
    int root;
    bool sets_mode;
    uint64_t left_out;
    struct buffer folders;
};

static int cannot(const char *what, const char *path, struct error **err)
{
    if (errno == ELOOP || errno == ENOTDIR)
        return error_set(err, ERR_INTERNAL,
                         "cannot %s %s: a part of its path is a link or a file, not a folder", what,
                         path);
    return error_set_errno(err, ERR_INTERNAL, errno, "cannot %s %s", what, path);
}

/* --- places --- */

static int open_below(int root, const char *path, int flags)
{
    const struct open_how how = {
        .flags = (uint64_t)flags | O_CLOEXEC | O_NOFOLLOW,
        .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
    };
    return (int)syscall(SYS_openat2, root, *path ? path : ".", &how, sizeof how);
}

/* Open the folder that path is in; *name is the last part of path. */
static int open_parent(const struct unpacking *unpacking, const char *path, const char **name)
{
    const char *slash = strrchr(path, '/');
    autofree char *above = xstrndup(path, slash ? (size_t)(slash - path) : 0);
    *name = slash ? slash + 1 : path;
    return open_below(unpacking->root, above, O_PATH | O_DIRECTORY);
}

/* Remove a file in the place of a new one. Folders stay. */
static int make_room(int parent, const char *name)
{
    return unlinkat(parent, name, 0) < 0 && errno != ENOENT ? -1 : 0;
}

/* --- making --- */

static int write_bytes(struct tar_reader *reader, const struct tar_entry *entry, int fd,
                       struct error **err)
{
    autofree char *piece = xcalloc(PIECE, 1);
    for (;;) {
        ssize_t size = tar_reader_read(reader, piece, PIECE, err);
        if (size <= 0)
            return (int)size;
        for (ssize_t at = 0; at < size;) {
            ssize_t written = write(fd, piece + at, (size_t)(size - at));
            if (written < 0 && errno != EINTR)
                return cannot("write", entry->path, err);
            at += written > 0 ? written : 0;
        }
    }
}

/* Always a new file: nothing is written into one that was there, which may have other names. */
static int make_file(struct tar_reader *reader, const struct tar_entry *entry, int parent,
                     const char *name, struct error **err)
{
    const struct timespec times[2] = {{.tv_nsec = UTIME_NOW}, entry->modified};
    autoclose int fd = -1;
    if (make_room(parent, name) == 0)
        fd = openat(parent, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return cannot("make", entry->path, err);
    if (write_bytes(reader, entry, fd, err) < 0)
        return -1;
    if (fchmod(fd, entry->mode) < 0 || futimens(fd, times) < 0)
        return cannot("set the mode and time of", entry->path, err);
    return 0;
}

static int remember(struct unpacking *unpacking, const struct tar_entry *entry, struct error **err)
{
    const struct folder folder = {entry->mode, entry->modified, strlen(entry->path) + 1};
    if (buffer_append(&unpacking->folders, &folder, sizeof folder) < 0 ||
        buffer_append(&unpacking->folders, entry->path, folder.path_size) < 0)
        return error_set(err, ERR_INTERNAL, "the sandbox's folder has too many folders");
    return 0;
}

static int make_folder(struct unpacking *unpacking, const struct tar_entry *entry, int parent,
                       const char *name, struct error **err)
{
    struct stat status;
    bool is_there = fstatat(parent, name, &status, AT_SYMLINK_NOFOLLOW) == 0;
    if (is_there && !S_ISDIR(status.st_mode) && make_room(parent, name) < 0)
        return cannot("replace", entry->path, err);
    if (!(is_there && S_ISDIR(status.st_mode)) && mkdirat(parent, name, 0700) < 0)
        return cannot("make", entry->path, err);
    return remember(unpacking, entry, err);
}

static int make_link(const struct tar_entry *entry, int parent, const char *name,
                     struct error **err)
{
    const struct timespec times[2] = {{.tv_nsec = UTIME_NOW}, entry->modified};
    if (make_room(parent, name) < 0 || symlinkat(entry->target, parent, name) < 0)
        return cannot("make", entry->path, err);
    utimensat(parent, name, times, AT_SYMLINK_NOFOLLOW); /* not every file system can */
    return 0;
}

/* To a file of the same folder. A link there is not followed, the new name is one of the link. */
static int make_hard_link(const struct unpacking *unpacking, const struct tar_entry *entry,
                          int parent, const char *name, struct error **err)
{
    const char *other;
    autoclose int beside = open_parent(unpacking, entry->target, &other);
    if (beside < 0)
        return cannot("open", entry->target, err);
    if (make_room(parent, name) < 0 || linkat(beside, other, parent, name, 0) < 0)
        return cannot("make", entry->path, err);
    return 0;
}

static int make_entry(struct unpacking *unpacking, struct tar_reader *reader,
                      const struct tar_entry *entry, struct error **err)
{
    const char *name;
    autoclose int parent = open_parent(unpacking, entry->path, &name);
    if (parent < 0)
        return cannot("open the folder of", entry->path, err);
    switch (entry->kind) {
    case TAR_FILE:
        return make_file(reader, entry, parent, name, err);
    case TAR_FOLDER:
        return make_folder(unpacking, entry, parent, name, err);
    case TAR_LINK:
        return make_link(entry, parent, name, err);
    case TAR_HARD_LINK:
        return make_hard_link(unpacking, entry, parent, name, err);
    case TAR_SPECIAL:
        break;
    }
    unpacking->left_out++;
    return 0;
}

/* The folder itself is there already. */
static int take_root(struct unpacking *unpacking, const struct tar_entry *entry, struct error **err)
{
    if (entry->kind != TAR_FOLDER)
        return error_set(err, ERR_INTERNAL,
                         "the archive from the sandbox does not begin with a folder");
    return unpacking->sets_mode ? remember(unpacking, entry, err) : 0;
}

/* --- the end --- */

static int finish_folder(const struct unpacking *unpacking, const struct folder *folder,
                         const char *path, struct error **err)
{
    const struct timespec times[2] = {{.tv_nsec = UTIME_NOW}, folder->modified};
    autoclose int fd = open_below(unpacking->root, path, O_RDONLY | O_DIRECTORY);
    if (fd < 0 && (errno == ENOENT || errno == ENOTDIR || errno == ELOOP))
        return 0; /* a later entry of the archive took its place */
    if (fd < 0 || fchmod(fd, folder->mode) < 0 || futimens(fd, times) < 0)
        return cannot("set the mode and time of", path, err);
    return 0;
}

/* Backwards: the contents of a folder come after it, and need it open. */
static int finish_folders(const struct unpacking *unpacking, struct error **err)
{
    const char *all = buffer_string(&unpacking->folders);
    buffer_auto places = BUFFER_INIT(FOLDERS_MAX);
    struct folder folder;
    for (size_t at = 0; at < unpacking->folders.size;) {
        buffer_append(&places, &at, sizeof at);
        memcpy(&folder, all + at, sizeof folder);
        at += sizeof folder + folder.path_size;
    }
    for (size_t left = places.size / sizeof(size_t); left--;) {
        size_t at;
        memcpy(&at, places.data + left * sizeof at, sizeof at);
        memcpy(&folder, all + at, sizeof folder);
        if (finish_folder(unpacking, &folder, all + at + sizeof folder, err) < 0)
            return -1;
    }
    return 0;
}

static int unpack_all(struct unpacking *unpacking, struct tar_reader *reader, struct error **err)
{
    autofree struct tar_entry *entry = xcalloc(1, sizeof *entry);
    int rc;
    while ((rc = tar_reader_next(reader, entry, err)) > 0)
        if ((*entry->path ? make_entry(unpacking, reader, entry, err)
                          : take_root(unpacking, entry, err)) < 0)
            return -1;
    return rc;
}

int unpack(int folder, const char *archive, bool sets_mode, uint64_t *left_out, struct error **err)
{
    autofclose FILE *file = fopen(archive, "re");
    struct tar_reader entries = {.file = file};
    struct unpacking unpacking = {.root = folder, .sets_mode = sets_mode};
    if (!file)
        return error_set_errno(err, ERR_INTERNAL, errno, "cannot open %s", archive);
    buffer_init(&unpacking.folders, FOLDERS_MAX);
    int rc = unpack_all(&unpacking, &entries, err);
    if (rc == 0)
        rc = finish_folders(&unpacking, err);
    buffer_deinit(&unpacking.folders);
    *left_out = unpacking.left_out;
    return rc;
}
