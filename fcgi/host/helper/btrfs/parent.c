/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "helper/btrfs/parent.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/str.h"
#include "common/btrfs.h"
#include "helper/btrfs/files.h"
#include "helper/btrfs/pool.h"
#include "helper/btrfs/tree.h"

#define PARENTS   "sandlot-parents"
#define ROOT      "rootfs"
#define TOO_LARGE ".too-large" /* behind the name of the parent */
/* incusd's record of an instance, and a key inside. */
#define RECORD      "backup.yaml"
#define RECORD_MOST (1 << 20)
#define KEY         "user.sandlot.parent: "

/* Wait for another process that makes the parent; the largest templates take this long. */
#define LOCK_MS (10 * 60 * 1000)

/* --- the source's name --- */

static bool is_name(const char *text)
{
    size_t length = strlen(text);
    return length && length < PARENT_SOURCE_SIZE &&
           strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-") == length;
}

bool parent_source_of(const char *snapshot, char source[PARENT_SOURCE_SIZE])
{
    autofree char *path = files_path(snapshot, RECORD);
    autofree char *line = NULL;
    size_t room = 0, read = 0;
    ssize_t length;
    /* In a volume, a file with this name belongs to the guest. */
    autofclose FILE *record = strstr(snapshot, POOL_INSTANCES) ? fopen(path, "re") : NULL;
    while (record && read < RECORD_MOST && (length = getline(&line, &room, record)) > 0) {
        const char *key = line + strspn(line, " ");
        read += (size_t)length;
        line[strcspn(line, "\n")] = '\0';
        if (!str_starts_with(key, KEY))
            continue;
        const char *name = key + strlen(KEY);
        if (is_name(name))
            snprintf(source, PARENT_SOURCE_SIZE, "%s", name);
        return is_name(name);
    }
    return false;
}

/* --- places --- */

/* Find the folder of an instance: incusd puts its project before its name. NULL: it does not exist;
 * the caller frees it. */
static char *folder_of(const char *instances, const char *name)
{
    autofree char *ending = xasprintf("_%s", name);
    char *found = NULL;
    DIR *folder = opendir(instances);
    const struct dirent *entry;
    while (folder && !found && (entry = readdir(folder)))
        if (str_equal(entry->d_name, name) || str_ends_with(entry->d_name, ending))
            found = xstrdup(entry->d_name);
    if (folder)
        closedir(folder);
    return found;
}

/* --- making --- */

struct making {
    char *source, *parent; /* paths */
    struct btrfs_subvolume made_of;
};

static bool is_made(const struct making *making)
{
    struct btrfs_subvolume found;
    return btrfs_subvolume_look(making->parent, &found) == 0 && found.sealed &&
           memcmp(found.parent_uuid, making->made_of.uuid, sizeof found.parent_uuid) == 0;
}

/* Return the most data to read: the size of the source's disk, so that a template cannot take more
 * of this machine's time. Sparse or compressed files may hold more; then no parent is used. */
static uint64_t size_limit(const struct making *making)
{
    char group[BTRFS_GROUP_NAME_SIZE];
    autoclose int fd = open(making->source, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    autofree char *groups = fd < 0 ? NULL : btrfs_groups_of(fd);
    btrfs_group_name(making->made_of.id, group);
    uint64_t limit = groups ? btrfs_group_read(groups, group, "max_referenced") : 0;
    return limit ? limit : TREE_BYTES_MAX;
}

/* --- sources that are too large --- */

/* A symbolic link next to the parents names the source that is too large, so that further moves do
 * not read it again. Its target is the id of the source, because names can be used again. */
static char *too_large_path(const char *parent)
{
    return xasprintf("%s" TOO_LARGE, parent);
}

static void mark_too_large(const struct making *making)
{
    char id[BTRFS_UUID_BYTES * 2 + 1];
    autofree char *path = too_large_path(making->parent);
    sodium_bin2hex(id, sizeof id, making->made_of.uuid, BTRFS_UUID_BYTES);
    unlink(path);
    if (symlink(id, path) < 0)
        files_complain("cannot note that a template is too large at", path);
    errno = E2BIG;
}

static bool is_too_large(const struct making *making)
{
    char id[BTRFS_UUID_BYTES * 2 + 1], noted[sizeof id] = "";
    autofree char *path = too_large_path(making->parent);
    sodium_bin2hex(id, sizeof id, making->made_of.uuid, BTRFS_UUID_BYTES);
    return readlink(path, noted, sizeof noted - 1) > 0 && str_equal(noted, id);
}

static int fill(const struct making *making)
{
    unsigned char digest[TREE_DIGEST_SIZE];
    _Static_assert(sizeof digest == BTRFS_UUID_BYTES, "a digest is in the place of an id");
    autofree char *record = files_path(making->parent, RECORD);
    if (btrfs_subvolume_copy(making->source, making->parent) < 0 ||
        (unlink(record) < 0 && errno != ENOENT) ||
        tree_digest(making->parent, size_limit(making), digest) < 0 ||
        btrfs_subvolume_set_received(making->parent, digest) < 0)
        return -1;
    return btrfs_subvolume_seal(making->parent);
}

/* Make the parent. A parent that is not sealed is unfinished, and is made from the start. */
static int make(struct making *making)
{
    autoclose int source = open(making->source, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (source < 0 || files_lock_within(source, LOCK_MS) < 0 ||
        btrfs_subvolume_look(making->source, &making->made_of) < 0)
        return files_complain("cannot make a parent for streams from", making->source);
    if (is_made(making))
        return 0;
    if (is_too_large(making))
        return -1;
    int others = btrfs_subvolume_has_others(making->source);
    if (others > 0)
        errno = ENOTEMPTY;
    if (others || (btrfs_subvolume_delete(making->parent) < 0 && errno != ENOENT))
        return files_complain("cannot replace the parent for streams at", making->parent);
    if (fill(making) == 0)
        return 0;
    if (errno == E2BIG)
        mark_too_large(making);
    files_complain("cannot make a parent for streams at", making->parent);
    btrfs_subvolume_delete(making->parent);
    return -1;
}

char *parent_make(const char *path, const char *source)
{
    autofree char *pool = is_name(source) ? pool_of(path) : NULL;
    autofree char *instances = pool ? xasprintf("%s" POOL_INSTANCES, pool) : NULL;
    autofree char *folder = instances ? folder_of(instances, source) : NULL;
    if (!folder)
        return NULL;
    autofree char *parents = xasprintf("%s/" PARENTS, pool);
    autofree char *from = xasprintf("%s%s", instances, folder);
    autofree char *parent = files_path(parents, folder);
    struct making making = {.source = from, .parent = parent};
    if (files_make_folder(parents, 0700) < 0)
        files_complain("cannot find the folder", parents);
    return make(&making) < 0 ? NULL : steal_pointer(&parent);
}

/* --- use --- */

/* Read the identity of the root folder: an inode number can be reused, but not with its
 * generation. */
static int look_at_root(const char *subvolume, struct stat *found, int *generation)
{
    autofree char *path = files_path(subvolume, ROOT);
    autoclose int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return fd < 0 || fstat(fd, found) < 0 ? -1 : ioctl(fd, FS_IOC_GETVERSION, generation);
}

bool parent_is_shared(const char *parent, const char *snapshot)
{
    struct stat one, other;
    int its = 0, others = 0;
    return look_at_root(parent, &one, &its) == 0 && look_at_root(snapshot, &other, &others) == 0 &&
           one.st_ino == other.st_ino && its == others;
}

void parent_remove(const char *instance)
{
    if (!pool_is_instance(instance))
        return;
    autofree char *pool = pool_of(instance);
    autofree char *parent = xasprintf("%s/" PARENTS "%s", pool, strrchr(instance, '/'));
    autofree char *too_large = too_large_path(parent);
    unlink(too_large);
    if (btrfs_subvolume_delete(parent) < 0 && errno != ENOENT)
        files_complain("cannot remove", parent);
}
