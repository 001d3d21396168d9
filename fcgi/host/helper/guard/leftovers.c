/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "helper/guard/leftovers.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"

#define NOTES  "/run/sandlot-pool"
#define IMAGES "sandlot-images"

char *leftovers_snapshot_of(const char *top, const char *name)
{
    const char *dot = strchr(name, '.');
    size_t length = dot ? (size_t)(dot - name) : strlen(name);
    return xasprintf("%s/containers-snapshots/%.*s/%s", top, (int)length, name,
                     dot ? dot + 1 : name);
}

char *leftovers_instance_of(const char *top, const char *name)
{
    const char *dot = strrchr(name, '.');
    size_t length = dot ? (size_t)(dot - name) : strlen(name);
    return xasprintf("%s/containers/%.*s", top, (int)length, name);
}

static bool is_leftover(const char *top, const char *folder, const char *name,
                        leftover_source *source)
{
    struct stat found;
    autofree char *path = xasprintf("%s/%s/%s", top, folder, name);
    autofree char *from = source(top, name);
    return name[0] != '.' && stat(path, &found) == 0 && S_ISDIR(found.st_mode) &&
           access(from, F_OK) < 0;
}

char **leftovers_in(const char *top, const char *folder, leftover_source *source)
{
    autofree char *path = xasprintf("%s/%s", top, folder);
    char **names = xcalloc(1, sizeof *names);
    size_t count = 0;
    DIR *all = opendir(path);
    for (const struct dirent *entry; all && (entry = readdir(all));) {
        if (!is_leftover(top, folder, entry->d_name, source))
            continue;
        names = xreallocarray(names, count + 2, sizeof *names);
        names[count++] = xstrdup(entry->d_name);
        names[count] = NULL;
    }
    if (all)
        closedir(all);
    return names;
}

/* Delete a subvolume. locked: skip it while a process has it locked, as one that uses an image
 * does. */
static void delete_one(const char *path, bool locked)
{
    autoclose int fd = locked ? open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (locked && (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) < 0))
        return;
    if (btrfs_subvolume_delete(path) < 0)
        fprintf(stderr, "pool-guard: cannot delete %s: %s\n", path, strerror(errno));
}

static void delete_in(const char *top, const char *folder, leftover_source *source, bool locked)
{
    char **names = leftovers_in(top, folder, source);
    for (char **name = names; *name; name++) {
        autofree char *path = xasprintf("%s/%s/%s", top, folder, *name);
        delete_one(path, locked);
        free(*name);
    }
    free(names);
}

/* --- groups --- */

/* Return the usage of all groups of deleted subvolumes, and destroy the empty groups. */
static uint64_t sum_orphans(const struct guard_pool *pool)
{
    uint64_t total = 0;
    unsigned count;
    autofree uint64_t *ids = guard_group_list(pool->groups, 0, &count);
    for (unsigned i = 0; i < count; i++) {
        char name[BTRFS_GROUP_NAME_SIZE];
        if (btrfs_subvolume_exists(pool->fd, ids[i]) != 0)
            continue;
        btrfs_group_name(ids[i], name);
        uint64_t used = btrfs_group_read(pool->groups, name, "referenced");
        total += used;
        if (!used)
            btrfs_group_destroy(pool->fd, ids[i]);
    }
    return total;
}

static void write_down(const char *uuid, uint64_t total)
{
    autofree char *path = xasprintf(NOTES "/%s", uuid);
    if (mkdir(NOTES, 0755) < 0 && errno != EEXIST)
        return;
    FILE *file = fopen(path, "we");
    if (!file)
        return;
    fprintf(file, "%ju\n", (uintmax_t)total);
    fclose(file);
}

void leftovers_remove(struct guard_pool *pool)
{
    if (guard_pool_hold(pool) < 0)
        return;
    uint64_t total = sum_orphans(pool);
    guard_pool_let_go(pool);
    delete_in(pool->top, IMAGES, leftovers_snapshot_of, true);
    delete_in(pool->top, "sandlot-parents", leftovers_instance_of, false);
    delete_in(pool->top, "sandlot-spares", leftovers_instance_of, false);
    write_down(pool->uuid, total);
}
