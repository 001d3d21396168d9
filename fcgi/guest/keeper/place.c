/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "keeper/place.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/mem.h"

/* The kernel says so when a directory on the way was renamed meanwhile. */
#define RENAMED_TRIES_MAX 64

const char *place_volumes = "/volumes";

int place_open_volume(const char *volume_id, struct keeper_error *error)
{
    struct statx status;
    autofree char *path = xasprintf("%s/%s", place_volumes, volume_id);
    autoclose int fd = open(path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOENT
                   ? keeper_error_set(error, KEEPER_NOT_MOUNTED, "The volume is not mounted.")
                   : keeper_error_set_errno(error, errno);
    /* The directory stays when the volume is unmounted: data that is written there would be
     * lost. */
    if (statx(fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS, &status) < 0)
        return keeper_error_set_errno(error, errno);
    if (!(status.stx_attributes & STATX_ATTR_MOUNT_ROOT))
        return keeper_error_set(error, KEEPER_NOT_MOUNTED, "The volume is not mounted.");
    return steal_fd(&fd);
}

int place_open(int volume, const char *path, int flags)
{
    struct open_how how = {
        .flags = (uint64_t)(unsigned)(O_PATH | O_CLOEXEC | flags),
        .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV,
    };
    for (unsigned i = 0;; i++) {
        int fd = (int)syscall(SYS_openat2, volume, *path ? path : ".", &how, sizeof how);
        if (fd >= 0 || errno != EAGAIN || i == RENAMED_TRIES_MAX)
            return fd;
    }
}

/* One directory of the way, below its parent. */
static int make_directory(int volume, const char *path, const char *name, int parent)
{
    bool made = mkdirat(parent, name, 0755) == 0;
    if (!made && errno != EEXIST)
        return -1;
    if (made && fchownat(parent, name, OWNER_ID, OWNER_ID, AT_SYMLINK_NOFOLLOW) < 0)
        return -1;
    return place_open(volume, path, O_DIRECTORY);
}

/* Open the directory `path` and create its missing parts. path is changed and restored. */
static int make_way(int volume, char *path)
{
    int fd = place_open(volume, path, O_DIRECTORY);
    if (fd >= 0 || errno != ENOENT)
        return fd;
    fd = place_open(volume, "", O_DIRECTORY);
    for (char *name = path, *end; fd >= 0 && *name; name = end + strspn(end, "/")) {
        end = name + strcspn(name, "/");
        char kept = *end;
        *end = '\0';
        int next = place_open(volume, path, O_DIRECTORY);
        if (next < 0 && errno == ENOENT)
            next = make_directory(volume, path, name, fd);
        int errnum = errno;
        close(fd);
        *end = kept;
        errno = errnum;
        fd = next;
    }
    return fd;
}

int place_open_parent(int volume, const char *path, bool make, const char **name,
                      struct keeper_error *error)
{
    const char *slash = strrchr(path, '/');
    *name = slash ? slash + 1 : path;
    if (!**name)
        return keeper_error_set(error, KEEPER_INVALID,
                                *path ? "A path with a slash at its end names a directory."
                                      : "This is the root of the volume.");
    autofree char *parent = xstrndup(path, slash ? (size_t)(slash - path) : 0);
    int fd = make ? make_way(volume, parent) : place_open(volume, parent, O_DIRECTORY);
    return fd < 0 ? keeper_error_set_errno(error, errno) : fd;
}

/* Open the file of an O_PATH descriptor. */
static int reopen(int place, int flags)
{
    char path[40];
    snprintf(path, sizeof path, "/proc/self/fd/%d", place);
    return open(path, flags | O_CLOEXEC);
}

int place_open_file(int volume, const char *path, struct stat *status, struct keeper_error *error)
{
    autoclose int place = place_open(volume, path, 0);
    if (place < 0 || fstat(place, status) < 0)
        return keeper_error_set_errno(error, errno);
    if (S_ISDIR(status->st_mode))
        return keeper_error_set(error, KEEPER_INVALID, "This is a directory.");
    if (!S_ISREG(status->st_mode))
        return keeper_error_set(error, KEEPER_INVALID, "This is not a regular file.");
    int fd = reopen(place, O_RDONLY | O_NONBLOCK | O_NOCTTY);
    return fd < 0 ? keeper_error_set_errno(error, errno) : fd;
}

int place_open_directory(int volume, const char *path, struct keeper_error *error)
{
    autoclose int place = place_open(volume, path, O_DIRECTORY);
    if (place < 0)
        return errno == ENOTDIR
                   ? keeper_error_set(error, KEEPER_INVALID, "This is not a directory.")
                   : keeper_error_set_errno(error, errno);
    int fd = openat(place, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return fd < 0 ? keeper_error_set_errno(error, errno) : fd;
}

void place_random_name(const char *prefix, char name[PLACE_NAME_SIZE])
{
    unsigned char random[8];
    char digits[17];
    randombytes_buf(random, sizeof random);
    snprintf(name, PLACE_NAME_SIZE, "%s%s", prefix,
             sodium_bin2hex(digits, sizeof digits, random, sizeof random));
}
