/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "helper/launcher/mount_points.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/str.h"

#define OPEN_FOLDER (O_PATH | O_DIRECTORY | O_CLOEXEC)

static const char *kind_of(mode_t mode)
{
    switch (mode & S_IFMT) {
    case S_IFLNK:
        return "a symbolic link";
    case S_IFIFO:
        return "a named pipe";
    case S_IFREG:
        return "a file";
    case S_IFSOCK:
        return "a socket";
    default:
        return "a device";
    }
}

/* A walk from the root file system to one place. */
struct walk {
    const struct container_config *config;
    unsigned mount; /* mounts before this one exist when it is made */
    int folder;     /* the present folder */
};

/* Open the next part. If an earlier mount covers it, continue in that mount's source. */
static int enter(struct walk *walk, const char *path, size_t length, const char *name)
{
    for (unsigned i = 0; i < walk->mount; i++) {
        const struct container_mount *mount = &walk->config->mounts[i];
        if (strlen(mount->target) == length && !strncmp(mount->target, path, length))
            return open(mount->source, OPEN_FOLDER);
    }
    return openat(walk->folder, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
}

/* Enter one part of path; its end is at `length`. Returns 1 when the part does not exist. */
static int step(struct walk *walk, const char *path, size_t length, const char *name, bool file,
                struct error **err)
{
    struct stat found;
    if (str_equal(name, ".") || str_equal(name, ".."))
        return error_set(err, ERR_INVALID_REQUEST, "/%s: the path cannot have . or .. as a part",
                         path);
    int next = enter(walk, path, length, name);
    if (next < 0 && errno == ENOENT)
        return 1;
    if (next < 0 || fstat(next, &found) < 0) {
        error_set_errno(err, ERR_CONFIG, errno, "cannot read /%.*s", (int)length, path);
        if (next >= 0)
            close(next);
        return -1;
    }
    close(walk->folder);
    walk->folder = next;
    if (S_ISDIR(found.st_mode) || (file && S_ISREG(found.st_mode)))
        return 0;
    if (path[length])
        return error_set(err, ERR_INVALID_REQUEST, "/%s: /%.*s is %s", path, (int)length, path,
                         kind_of(found.st_mode));
    return error_set(err, ERR_INVALID_REQUEST, "/%s: it is %s", path, kind_of(found.st_mode));
}

static int look(const struct container_config *config, unsigned mount, const char *path, bool file,
                struct error **err)
{
    if (!config->rootfs)
        return error_set(err, ERR_CONFIG, "the configuration has no root file system");
    struct walk walk = {config, mount, open(config->rootfs, OPEN_FOLDER)};
    const char *end = path + strlen(path);
    int result = 0;
    if (walk.folder < 0)
        return error_set_errno(err, ERR_CONFIG, errno, "cannot open root file system %s",
                               config->rootfs);
    for (const char *at = path + strspn(path, "/"); *at && result == 0; at += strspn(at, "/")) {
        size_t length = strcspn(at, "/");
        autofree char *name = xstrndup(at, length);
        at += length;
        bool last = at + strspn(at, "/") == end;
        result = step(&walk, path, (size_t)(at - path), name, last && file, err);
    }
    close(walk.folder);
    return result < 0 ? -1 : 0;
}

/* Return whether a target is below one of three folders that the start mounts first: file systems
 * of the kernel, or a tmpfs. */
static bool is_covered(const char *target)
{
    return str_starts_with(target, "proc/") || str_starts_with(target, "sys/") ||
           str_starts_with(target, "dev/");
}

int mount_point_check(const struct container_config *config, const char *path, struct error **err)
{
    return look(config, 0, path + strspn(path, "/"), false, err);
}

int mount_points_check(const struct container_config *config, struct error **err)
{
    static const char *const always[] = {"proc", "sys", "dev"};
    for (size_t i = 0; i < ARRAY_SIZE(always); i++)
        if (look(config, 0, always[i], false, err) < 0)
            return -1;
    for (unsigned i = 0; i < config->mount_count; i++) {
        const struct container_mount *mount = &config->mounts[i];
        if (!is_covered(mount->target) && look(config, i, mount->target, mount->is_file, err) < 0)
            return -1;
    }
    return 0;
}
