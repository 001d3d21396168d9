/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "helper/launcher/orphans.h"

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "helper/launcher/disk_view.h"

enum {
    /* A younger folder may belong to an instance that is being created. */
    AGE_S = 60,
    INTERVAL_S = 60,
    /* Folders in one run. */
    FOLDERS_MOST = 4096,
};

#define STAMP     ".sandlot-orphans"
#define GROUPS    "/sys/fs/cgroup"
#define OPEN_MOST 16

static char *parent_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash && slash > path ? xstrndup(path, (size_t)(slash - path)) : NULL;
}

static bool exists(const char *folder, const char *name)
{
    autofree char *path = xasprintf("%s/%s", folder, name);
    struct stat found;
    return lstat(path, &found) == 0;
}

/* Delete the files in a folder, and then the folder itself, if it is empty. Incus creates only
 * files there. */
static bool remove_folder(int parent, const char *name)
{
    int folder = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *entries = folder < 0 ? NULL : fdopendir(folder);
    if (!entries) {
        if (folder >= 0)
            close(folder);
        return false;
    }
    for (struct dirent *entry; (entry = readdir(entries));)
        if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, ".."))
            unlinkat(folder, entry->d_name, 0);
    closedir(entries);
    return unlinkat(parent, name, AT_REMOVEDIR) == 0;
}

static bool is_old_folder(int parent, const char *name)
{
    struct stat found;
    return fstatat(parent, name, &found, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(found.st_mode) &&
           found.st_mtime < time(NULL) - AGE_S;
}

unsigned orphans_remove_in(const char *parent, const char *containers)
{
    autofree char *base = parent_of(containers);
    if (!base)
        return 0;
    autofree char *machines = xasprintf("%s/virtual-machines", base);
    DIR *entries = opendir(parent);
    unsigned seen = 0, removed = 0;
    for (struct dirent *entry; entries && (entry = readdir(entries)) && seen < FOLDERS_MOST;) {
        /* Folders of instances are named <project>_<name>, or <name> in the project "default". */
        if (entry->d_name[0] == '.' || exists(containers, entry->d_name) ||
            exists(machines, entry->d_name) || !is_old_folder(dirfd(entries), entry->d_name))
            continue;
        seen++;
        removed += remove_folder(dirfd(entries), entry->d_name);
    }
    if (entries)
        closedir(entries);
    return removed;
}

/* Return whether the cleanup is due. The first process that finds it due does it. */
static bool take_turn(const char *run)
{
    autofree char *path = xasprintf("%s/" STAMP, run);
    struct stat stamp;
    if (lstat(path, &stamp) == 0 && stamp.st_mtime > time(NULL) - INTERVAL_S)
        return false;
    autoclose int file = open(path, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    return file >= 0 && futimens(file, NULL) == 0;
}

static void remove_all(const char *run, const char *logs, const char *containers)
{
    orphans_remove_in(run, containers);
    if (logs)
        orphans_remove_in(logs, containers);
}

/* nftw() has no context argument. */
static const char *groups_of;

static bool is_group_of(const char *path, const char *kind)
{
    autofree char *group = xasprintf("/lxc.%s.%s", kind, groups_of);
    const char *place = strstr(path, group);
    const char *rest = place ? place + strlen(group) : NULL;
    if (rest && *rest == '-')
        rest += 1 + strspn(rest + 1, "0123456789");
    return rest && (*rest == '\0' || *rest == '/');
}

static int remove_group(const char *path, const struct stat *found, int kind, struct FTW *place)
{
    (void)found, (void)place;
    if (kind == FTW_DP && (is_group_of(path, "payload") || is_group_of(path, "monitor")))
        rmdir(path);
    return 0;
}

void orphans_remove_groups(const char *name)
{
    groups_of = name;
    nftw(GROUPS, remove_group, OPEN_MOST, FTW_DEPTH | FTW_PHYS);
}

void orphans_remove(const struct container_config *config, const char *containers)
{
    autofree char *run = parent_of(config->run_folder);
    autofree char *folder = config->log_file ? parent_of(config->log_file) : NULL;
    autofree char *logs = folder ? parent_of(folder) : NULL;
    if (!run || !exists(containers, ".") || !take_turn(run))
        return;
    pid_t pid = fork();
    if (pid)
        return;
    /* incusd waits until all writers of its pipes have closed them. */
    close_range(0, ~0U, 0);
    setsid();
    remove_all(run, logs, containers);
    disk_view_sweep();
    _exit(EXIT_SUCCESS);
}
