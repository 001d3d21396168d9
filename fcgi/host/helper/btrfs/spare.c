/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "helper/btrfs/spare.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/str.h"
#include "common/btrfs.h"
#include "helper/btrfs/files.h"
#include "helper/btrfs/pool.h"

#define SPARES      "sandlot-spares"
#define SOURCE      "tpl-" /* runtime_source_name() */

#define SPARE_COUNT 2
/* The most in a pool. Each subvolume adds to the lists that incusd asks for. */
#define SPARES_MOST 64

enum {
    /* Wait for the start that has taken a spare. */
    LOOK_MS = 500,
    /* incusd still writes into a new source, on a busy machine for seconds. Check again after twice
     * the time, and so on, up to this time. */
    NEW_MS = 16000,
};

bool spare_is_for(const char *instance)
{
    if (!pool_is_instance(instance))
        return false;
    const char *folder = strrchr(instance, '/') + 1, *project_end = strrchr(folder, '_');
    return str_starts_with(project_end ? project_end + 1 : folder, SOURCE);
}

static char *path_of(const char *instance, unsigned number)
{
    autofree char *pool = pool_of(instance);
    return xasprintf("%s/" SPARES "%s.%u", pool, strrchr(instance, '/'), number);
}

/* Return whether a spare is up to date. The kernel notes the transactions of a subvolume's creation
 * and last change. A change in the same transaction as a copy precedes the copy. */
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

/* Delete the oldest spare when there are too many: it was unused for the longest time. */
static void make_room(const char *spares)
{
    autofree char *oldest = NULL;
    uint64_t made_in = UINT64_MAX;
    unsigned count = 0;
    DIR *folder = opendir(spares);
    const struct dirent *entry;
    while (folder && (entry = readdir(folder))) {
        struct btrfs_subvolume found;
        autofree char *spare = files_path(spares, entry->d_name);
        if (entry->d_name[0] == '.' || btrfs_subvolume_look(spare, &found) < 0)
            continue;
        count++;
        if (found.made_in < made_in) {
            made_in = found.made_in;
            free(oldest);
            oldest = steal_pointer(&spare);
        }
    }
    if (folder)
        closedir(folder);
    if (count >= SPARES_MOST)
        btrfs_subvolume_delete(oldest);
}

static int make_missing(const char *source, const char *spares,
                        const struct btrfs_subvolume *looked)
{
    for (unsigned i = 0; i < SPARE_COUNT; i++) {
        autofree char *spare = path_of(source, i);
        if (is_current(spare, looked))
            continue;
        if (btrfs_subvolume_delete(spare) < 0 && errno != ENOENT)
            return -1;
        make_room(spares);
        if (btrfs_subvolume_copy(source, spare) < 0)
            return -1;
    }
    return 0;
}

/* Make missing spares. Only one process at a time does so; another gives up for this turn. */
static int look(const char *source, const char *spares)
{
    struct btrfs_subvolume looked;
    autoclose int folder = open(source, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0 || flock(folder, LOCK_EX | LOCK_NB) < 0 ||
        btrfs_subvolume_look(source, &looked) < 0 || files_make_folder(spares, 0700) < 0)
        return -1;
    return make_missing(source, spares, &looked);
}

/* Make the spares after a pause, and check again up to most_ms. The process holds nothing in the
 * pool open during a pause, and ends with incusd, so that the pool can be unmounted. */
static void make(const char *source, unsigned most_ms, pid_t incusd)
{
    const struct timespec pause = {.tv_nsec = LOOK_MS * 1000000L};
    unsigned next_ms = LOOK_MS;
    autofree char *pool = pool_of(source);
    autofree char *spares = files_path(pool, SPARES);
    for (unsigned waited_ms = LOOK_MS; waited_ms <= most_ms; waited_ms += LOOK_MS) {
        nanosleep(&pause, NULL);
        if (kill(incusd, 0) < 0)
            return;
        if (waited_ms < next_ms)
            continue;
        next_ms *= 2;
        if (look(source, spares) < 0 && errno == ENOENT)
            return; /* the source was deleted */
    }
}

/* Close incusd's pipes: incusd waits until all writers have closed them. Failures can therefore not
 * be reported. */
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

void spare_make_later(const char *source, bool is_new)
{
    pid_t incusd = getppid(), pid = fork();
    if (pid < 0)
        files_complain("cannot make a spare copy of", source);
    if (pid != 0)
        return;
    leave_caller();
    make(source, is_new ? NEW_MS : LOOK_MS, incusd);
    _exit(EXIT_SUCCESS);
}

void spare_remove(const char *instance)
{
    for (unsigned i = 0; spare_is_for(instance) && i < SPARE_COUNT; i++) {
        autofree char *spare = path_of(instance, i);
        if (btrfs_subvolume_delete(spare) < 0 && errno != ENOENT)
            files_complain("cannot remove", spare);
    }
}
