/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/files/draft.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/falloc.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "agent/files/files.h"
#include "base/mem.h"
#include "base/str.h"

#define MODE_KEPT   01777 /* a write takes set-user-id and set-group-id away */
#define LIST_MAX    (64 * 1024)
#define VALUE_MAX   (64 * 1024)
#define BEYOND_STEP (1 << 20)
#define SELF_SIZE   40

static int cannot_write(const struct draft *draft, int errnum, struct rpc_error *error)
{
    return rpc_error_set_errno(error, errnum, "cannot write '%s'", draft->target);
}

static char *folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash == path ? xstrdup("/") : xstrndup(path, (size_t)(slash - path));
}

/* A name beside the path that nothing has. */
static char *name_beside(const char *path)
{
    unsigned long long number = 0;
    autofree char *folder = folder_of(path);
    if (getrandom(&number, sizeof number, 0) < 0)
        return NULL;
    return xasprintf("%s/" DRAFT_PREFIX "%016llx", folder, number);
}

/* --- the existing file --- */

/* *fd stays -1 without a file. It is opened for writing, so a refusal refuses the upload. The
 * kernel refuses to write a program that runs, but another file can take its place. */
static int look(const struct draft *draft, int *fd, struct stat *status, struct rpc_error *error)
{
    const int flags = O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
    autoclose int opened = open(draft->target, O_WRONLY | flags);
    if (opened < 0 && errno == ETXTBSY)
        opened = open(draft->target, O_RDONLY | flags);
    if (opened < 0 && errno == ENOENT)
        return 0;
    if (opened < 0 || fstat(opened, status) < 0)
        return cannot_write(draft, errno, error);
    if (!S_ISREG(status->st_mode))
        return rpc_error_set(error, RPC_INVALID_ARGUMENT, "'%s' is not a regular file",
                             draft->target);
    *fd = steal_fd(&opened);
    return 0;
}

/* Where an open file is, or NULL when it has other names too or none that leads to it. */
static char *place_of_file(int fd, const struct stat *status)
{
    char self[SELF_SIZE], path[PATH_MAX];
    struct stat there;
    snprintf(self, sizeof self, "/proc/self/fd/%d", fd);
    ssize_t size = readlink(self, path, sizeof path - 1);
    if (size <= 0 || status->st_nlink != 1)
        return NULL;
    path[size] = '\0';
    bool is_it = *path == '/' && lstat(path, &there) == 0 && there.st_ino == status->st_ino &&
                 there.st_dev == status->st_dev;
    return is_it ? xstrdup(path) : NULL;
}

static bool is_link(const char *path)
{
    struct stat status;
    return lstat(path, &status) == 0 && S_ISLNK(status.st_mode);
}

/* --- the draft --- */

/* A file without a name vanishes by itself when the agent is ended. */
static int open_nameless(const char *folder)
{
    return open(folder, O_RDWR | O_TMPFILE | O_CLOEXEC, 0644);
}

static int open_beside(struct draft *draft)
{
    autofree char *folder = folder_of(draft->place);
    int fd = open_nameless(folder);
    if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL))
        return fd;
    autofree char *name = name_beside(draft->place);
    fd = name ? open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644) : -1;
    if (fd >= 0)
        draft->name = steal_pointer(&name);
    return fd;
}

/* For bytes that are copied in the end. */
static int open_anywhere(const struct draft *draft)
{
    autofree char *folder = folder_of(draft->target);
    const char *const folders[] = {folder, "/var/tmp", "/tmp", "/"};
    int fd = -1;
    for (size_t i = 0; fd < 0 && i < ARRAY_SIZE(folders); i++)
        fd = open_nameless(folders[i]);
    return fd;
}

static bool is_kept_attribute(const char *name)
{
    return str_starts_with(name, "user.") || str_starts_with(name, "system.posix_acl_");
}

/* Mode, attributes and access lists. Returns -1 when it cannot be made alike. */
static int copy_attributes(int from, const struct stat *status, int to)
{
    if (fchmod(to, status->st_mode & MODE_KEPT) < 0)
        return -1;
    if (flistxattr(from, NULL, 0) <= 0)
        return 0;
    autofree char *names = xmalloc(LIST_MAX);
    autofree char *value = xmalloc(VALUE_MAX);
    ssize_t size = flistxattr(from, names, LIST_MAX);
    for (ssize_t at = 0; at < size; at += (ssize_t)strlen(names + at) + 1) {
        if (!is_kept_attribute(names + at))
            continue;
        ssize_t length = fgetxattr(from, names + at, value, VALUE_MAX);
        if (length < 0 || fsetxattr(to, names + at, value, (size_t)length, 0) < 0)
            return -1;
    }
    return size < 0 ? -1 : 0;
}

static void close_draft(struct draft *draft)
{
    if (draft->fd >= 0)
        close(steal_fd(&draft->fd));
    if (draft->name)
        unlink(draft->name);
    free(steal_pointer(&draft->name));
}

/* there: the file to replace, or -1. */
static int open_to_rename(struct draft *draft, int there, const struct stat *old)
{
    draft->fd = open_beside(draft);
    if (draft->fd < 0 || fchown(draft->fd, draft->user->uid, draft->user->gid) < 0)
        return -1;
    return there < 0 ? 0 : copy_attributes(there, old, draft->fd);
}

static int open_draft(struct draft *draft, int there, const struct stat *old,
                      struct rpc_error *error)
{
    if (draft->place && open_to_rename(draft, there, old) == 0)
        return files_metadata_store(draft->fd, draft->metadata, error);
    if (draft->place && !draft->replaces)
        return cannot_write(draft, errno, error);
    close_draft(draft);
    free(steal_pointer(&draft->place));
    draft->fd = open_anywhere(draft);
    return draft->fd < 0 ? cannot_write(draft, errno, error) : 0;
}

int draft_begin(struct draft *draft, const char *path, const struct user *user,
                const json_t *metadata, struct rpc_error *error)
{
    struct stat old;
    autoclose int there = -1;
    *draft = (struct draft){.fd = -1, .target = xstrdup(path), .user = user, .metadata = metadata};
    if (look(draft, &there, &old, error) < 0)
        return -1;
    draft->replaces = there >= 0;
    if (there >= 0)
        draft->place = place_of_file(there, &old);
    else if (!is_link(path))
        draft->place = xstrdup(path);
    return open_draft(draft, there, &old, error);
}

/* Whether a second try may succeed: removed files free their space with the file system's next
 * commit, and this can force one. */
static bool make_room(struct draft *draft, int errnum)
{
    if ((errnum != EDQUOT && errnum != ENOSPC) || draft->room_made)
        return false;
    draft->room_made = true;
    return syncfs(draft->fd) == 0;
}

int draft_write(struct draft *draft, const char *data, size_t size, struct rpc_error *error)
{
    while (size) {
        ssize_t written = write(draft->fd, data, size);
        if (written < 0 && (errno == EINTR || make_room(draft, errno)))
            continue;
        if (written < 0)
            return cannot_write(draft, errno, error);
        data += written;
        size -= (size_t)written;
    }
    return 0;
}

/* --- its place --- */

/* The draft by a name that can be moved to its place. */
static int name_draft(struct draft *draft, const char *name)
{
    char self[SELF_SIZE];
    snprintf(self, sizeof self, "/proc/self/fd/%d", draft->fd);
    return linkat(AT_FDCWD, self, AT_FDCWD, name, AT_SYMLINK_FOLLOW);
}

static int rename_draft(struct draft *draft)
{
    if (!draft->name && !draft->replaces && name_draft(draft, draft->place) == 0)
        return 0;
    if (!draft->name) {
        autofree char *name = name_beside(draft->place);
        if (!name || name_draft(draft, name) < 0)
            return -1;
        draft->name = steal_pointer(&name);
    }
    if (rename(draft->name, draft->place) < 0)
        return -1;
    free(steal_pointer(&draft->name));
    return 0;
}

/* Watchers of the directory wait for a write, and a rename is not a write. A hole after the end
 * changes nothing and counts as a write. */
static void tell_watchers(const struct draft *draft)
{
    struct stat mine, there;
    autoclose int fd =
        open(draft->place, O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &there) < 0 || fstat(draft->fd, &mine) < 0 ||
        mine.st_ino != there.st_ino || mine.st_dev != there.st_dev)
        return;
    /* E2B's agent chowns a file that it has created, and clients of its watchers count that. */
    if (!draft->replaces)
        (void)!fchown(fd, draft->user->uid, draft->user->gid);
    off_t beyond = (there.st_size / BEYOND_STEP + 1) * BEYOND_STEP;
    (void)!fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, beyond, BEYOND_STEP);
}

static int copy_draft(struct draft *draft, struct rpc_error *error)
{
    struct stat status;
    autoclose int to =
        open(draft->target, O_WRONLY | O_CREAT | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0644);
    if (to < 0 || fstat(to, &status) < 0)
        return cannot_write(draft, errno, error);
    if (!S_ISREG(status.st_mode))
        return rpc_error_set(error, RPC_INVALID_ARGUMENT, "'%s' is not a regular file",
                             draft->target);
    if (lseek(draft->fd, 0, SEEK_SET) < 0 || ftruncate(to, 0) < 0 ||
        fchown(to, draft->user->uid, draft->user->gid) < 0 || files_copy(draft->fd, to) < 0)
        return cannot_write(draft, errno, error);
    return files_metadata_store(to, draft->metadata, error);
}

int draft_place(struct draft *draft, struct rpc_error *error)
{
    if (draft->place && rename_draft(draft) == 0) {
        tell_watchers(draft);
        return 0;
    }
    /* Without room a copy would only lose the present contents. */
    if (draft->place && (errno == ENOSPC || errno == EDQUOT))
        return cannot_write(draft, errno, error);
    return copy_draft(draft, error);
}

void draft_drop(struct draft *draft)
{
    close_draft(draft);
    free(steal_pointer(&draft->target));
    free(steal_pointer(&draft->place));
}
