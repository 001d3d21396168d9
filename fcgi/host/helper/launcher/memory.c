/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "helper/launcher/memory.h"

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <linux/btrfs_tree.h>
#include <linux/magic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/str.h"

/* OWNER is written by helper/criu: the instance that the image belongs to. SHARED is written by
 * helper/btrfs: the place of the image. */
#define OWNER       "sandlot-owner"
#define SHARED      "sandlot-image"
#define USED        "sandlot-continued"
#define PUT_ASIDE   "sandlot-memory"
#define IMAGES      "sandlot-images"
#define RESTORED    "restored"

#define BYTES_PER_S (INT64_C(16) << 20)
#define BLOCK       512 /* the unit of stat() */
#define OPEN_MOST   16

/* Return the first line of a file. NULL: the file is empty or missing. */
static char *read_line(const char *folder, const char *name)
{
    autofree char *path = xasprintf("%s/%s", folder, name);
    char *line = NULL;
    size_t size = 0;
    autofclose FILE *file = fopen(path, "re");
    if (!file || getline(&line, &size, file) <= 0) {
        free(line);
        return NULL;
    }
    line[strcspn(line, "\n")] = '\0';
    return line;
}

static bool has(const char *folder, const char *name)
{
    autofree char *path = xasprintf("%s/%s", folder, name);
    return access(path, F_OK) == 0;
}

bool memory_is_of_other(const struct container_config *config, const char *name, const char *folder)
{
    autofree char *owner = config->goes_on && !has(folder, USED) ? read_line(folder, OWNER) : NULL;
    return owner && !str_equal(owner, name);
}

bool memory_mark_used(const char *folder)
{
    autofree char *path = xasprintf("%s/" USED, folder);
    autoclose int fd = open(path, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    return fd >= 0;
}

/* Return the pool of <pool>/containers/<instance>/<folder>; the path to the instance may be a
 * link. */
static char *pool_of(const char *folder)
{
    autofree char *up = xasprintf("%s/../../..", folder);
    return realpath(up, NULL);
}

char *memory_image(const char *folder)
{
    autofree char *shared = read_line(folder, SHARED);
    autofree char *pool = shared ? pool_of(folder) : NULL;
    if (!pool)
        return xstrdup(folder);
    const char *name = strrchr(shared, '/');
    return xasprintf("%s/" IMAGES "/%s", pool, name ? name + 1 : shared);
}

int memory_hold(const char *image)
{
    autoclose int fd = open(image, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return fd < 0 || flock(fd, LOCK_SH) < 0 ? -1 : steal_fd(&fd);
}

unsigned memory_read_s(const char *image)
{
    DIR *files = opendir(image);
    struct stat found;
    int64_t bytes = 0;
    for (struct dirent *entry; files && (entry = readdir(files));)
        if (fstatat(dirfd(files), entry->d_name, &found, AT_SYMLINK_NOFOLLOW) == 0)
            bytes += (int64_t)found.st_blocks * BLOCK;
    if (files)
        closedir(files);
    return bytes / BYTES_PER_S < UINT16_MAX ? (unsigned)(bytes / BYTES_PER_S) : UINT16_MAX;
}

static int remove_one(const char *path, const struct stat *found, int kind, struct FTW *place)
{
    (void)found, (void)kind, (void)place;
    remove(path);
    return 0;
}

void memory_remove(const char *folder)
{
    if (access(folder, F_OK) == 0)
        nftw(folder, remove_one, OPEN_MOST, FTW_DEPTH | FTW_PHYS);
}

/* Return the place for a restored image; the caller frees it. NULL: the image is no subvolume. */
static char *place_aside(const char *name, const char *folder)
{
    struct stat found;
    struct statfs system;
    if (stat(folder, &found) < 0 || statfs(folder, &system) < 0 ||
        system.f_type != BTRFS_SUPER_MAGIC || found.st_ino != BTRFS_FIRST_FREE_OBJECTID)
        return NULL;
    autofree char *pool = pool_of(folder);
    return pool ? xasprintf("%s/" IMAGES "/%s." RESTORED, pool, name) : NULL;
}

static void make_parent(const char *path)
{
    autofree char *parent = xstrndup(path, (size_t)(strrchr(path, '/') - path));
    if (mkdir(parent, 0711) == 0)
        chmod(parent, 0711);
}

static void remove_later(const char *folder)
{
    pid_t pid = fork();
    if (pid > 0)
        return;
    if (pid == 0) {
        /* incusd waits until all writers of its pipes have closed them. */
        close_range(0, ~0U, 0);
        setsid();
    }
    memory_remove(folder);
    if (pid == 0)
        _exit(EXIT_SUCCESS);
}

void memory_retire(const char *name, const char *folder)
{
    autofree char *aside = place_aside(name, folder);
    if (aside)
        make_parent(aside);
    if (aside && rename(folder, aside) == 0)
        remove_later(aside);
    else
        memory_remove(folder);
}

void memory_give_back(const char *folder)
{
    const char *slash = strrchr(folder, '/');
    autofree char *aside = xasprintf("%.*s/" PUT_ASIDE, (int)(slash ? slash - folder : 0), folder);
    if (slash && access(aside, F_OK) == 0 && (rmdir(folder) < 0 || rename(aside, folder) < 0))
        memory_remove(aside);
}
