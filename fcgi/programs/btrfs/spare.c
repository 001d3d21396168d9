/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "btrfs/spare.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "base/btrfs.h"
#include "base/cleanup.h"
#include "base/mem.h"
#include "base/str.h"
#include "btrfs/files.h"
#include "btrfs/pool.h"

#define SPARES "sandlot-spares"
#define SOURCE "tpl-" /* runtime_source_name() */

enum {
    SPARE_COUNT = 2,
    /* The start that has taken one comes first, and what incusd still writes into a new source. */
    QUIET_MS = 500,
    LOOKS_MOST = 20,
};

bool spare_is_for(const char *instance)
{
    const char *name = strrchr(instance, '/');
    const char *project_end = name ? strchr(name, '_') : NULL;
    return pool_is_instance(instance) &&
           (str_starts_with(name + 1, SOURCE) ||
            (project_end && str_starts_with(project_end + 1, SOURCE)));
}

static char *path_of(const char *instance, unsigned number)
{
    autofree char *pool = pool_of(instance);
    return xasprintf("%s/" SPARES "%s.%u", pool, strrchr(instance, '/'), number);
}

/* The kernel notes in which of its transactions a subvolume was made and last changed; a change in
 * the one that makes a copy comes before it. */
static bool is_current(const char *spare, const struct btrfs_subvolume *source)
{
    struct btrfs_subvolume found;
    return btrfs_subvolume_look(spare, &found) == 0 && !found.sealed &&
           memcmp(found.parent_uuid, source->uuid, sizeof found.parent_uuid) == 0 &&
           found.made_in >= source->changed_in;
}

int spare_take(const char *source, const char *to)
{
    struct btrfs_subvolume looked;
    if (btrfs_subvolume_look(source, &looked) < 0)
        return -1;
    for (unsigned i = 0; i < SPARE_COUNT; i++) {
        autofree char *spare = path_of(source, i);
        if (is_current(spare, &looked) &&
            renameat2(AT_FDCWD, spare, AT_FDCWD, to, RENAME_NOREPLACE) == 0)
            return EXIT_SUCCESS;
    }
    return -1;
}

/* --- making --- */

static int wait_until_quiet(const char *source, struct btrfs_subvolume *looked)
{
    const struct timespec quiet = {.tv_nsec = QUIET_MS * 1000000L};
    uint64_t before = UINT64_MAX;
    for (unsigned i = 0; i < LOOKS_MOST; i++) {
        nanosleep(&quiet, NULL);
        if (btrfs_subvolume_look(source, looked) < 0)
            return -1;
        if (looked->changed_in == before)
            return 0;
        before = looked->changed_in;
    }
    errno = EBUSY;
    return -1;
}

static int make_missing(const char *source, const struct btrfs_subvolume *looked)
{
    for (unsigned i = 0; i < SPARE_COUNT; i++) {
        autofree char *spare = path_of(source, i);
        if (is_current(spare, looked))
            continue;
        if ((btrfs_subvolume_delete(spare) < 0 && errno != ENOENT) ||
            btrfs_subvolume_copy(source, spare) < 0)
            return -1;
    }
    return 0;
}

/* One at a time; what comes meanwhile finds none or has them made again. The source is not held
 * open while it is waited for, so that the pool can be unmounted. */
static int make(const char *source)
{
    struct btrfs_subvolume looked;
    autofree char *pool = pool_of(source);
    autofree char *spares = files_path(pool, SPARES);
    if (wait_until_quiet(source, &looked) < 0 || files_make_folder(spares, 0700) < 0)
        return -1;
    autoclose int folder = open(source, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return folder < 0 || flock(folder, LOCK_EX | LOCK_NB) < 0 ? -1 : make_missing(source, &looked);
}

/* incusd waits until nothing writes to its pipes any more, so that nobody hears of a failure. */
static void leave_caller(void)
{
    int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int fd = 0; nowhere >= 0 && fd < 3; fd++)
        dup2(nowhere, fd);
    close_range(3, ~0U, 0);
    setsid();
    if (chdir("/") < 0)
        _exit(EXIT_FAILURE);
}

void spare_make_later(const char *source)
{
    pid_t pid = fork();
    if (pid < 0)
        files_complain("no copy is made ahead of", source);
    if (pid != 0)
        return;
    leave_caller();
    _exit(make(source) < 0 ? EXIT_FAILURE : EXIT_SUCCESS);
}

void spare_remove(const char *instance)
{
    for (unsigned i = 0; spare_is_for(instance) && i < SPARE_COUNT; i++) {
        autofree char *spare = path_of(instance, i);
        if (btrfs_subvolume_delete(spare) < 0 && errno != ENOENT)
            files_complain("nobody has removed", spare);
    }
}
