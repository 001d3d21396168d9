/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Read directories to find the subdirectories of a recursive watcher. */
#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "agent/agent.h"
#include "agent/watch/watch.h"
#include "base/mem.h"

#define DIRECTORIES_PER_TURN 64

static bool is_directory(DIR *directory, const struct dirent *file)
{
    struct stat status;
    if (file->d_type != DT_UNKNOWN)
        return file->d_type == DT_DIR;
    return fstatat(dirfd(directory), file->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
           S_ISDIR(status.st_mode);
}

/* Its watch is in place already: no later event is missed. Earlier entries are reported here, and
 * entries that appear meanwhile may be reported twice. */
static int scan(struct watch_place *place, struct rpc_error *error)
{
    struct watcher *watcher = place->watcher;
    autofree char *path = watch_join(watcher->path, place->name);
    DIR *directory = opendir(path);
    if (!directory)
        return 0;
    int rc = 0;
    for (const struct dirent *file; rc == 0 && (file = readdir(directory));) {
        if (!strcmp(file->d_name, ".") || !strcmp(file->d_name, ".."))
            continue;
        autofree char *name = watch_join(place->name, file->d_name);
        if (place->fresh)
            watch_tell(watcher, "EVENT_TYPE_CREATE", name);
        if (is_directory(directory, file))
            rc = watch_place_add(watcher, name, place->fresh, error);
    }
    closedir(directory);
    return rc;
}

static void scan_next(struct watch_hub *hub)
{
    struct watch_place *place = TAILQ_FIRST(&hub->to_scan);
    struct watcher *watcher = place->watcher;
    struct rpc_error error;
    TAILQ_REMOVE(&hub->to_scan, place, scan_link);
    place->to_scan = false;
    watcher->unscanned--;
    if (scan(place, &error) == 0)
        return;
    if (watcher->is_ready) {
        watcher->listener->lost(watcher);
    } else {
        watcher->is_ready = true;
        watcher->listener->ready(watcher, &error);
    }
}

static void note_read(struct watch_hub *hub)
{
    struct watcher *watcher;
    LIST_FOREACH(watcher, &hub->watchers, link)
    {
        if (watcher->unscanned)
            continue;
        watch_drop_stale(watcher);
        if (watcher->is_ready)
            continue;
        watcher->is_ready = true;
        watcher->listener->ready(watcher, NULL);
    }
}

static void on_more(struct loop_timer *timer)
{
    watch_scan(container_of(timer, struct watch_hub, scan_timer));
}

void watch_scan(struct watch_hub *hub)
{
    for (int i = 0; i < DIRECTORIES_PER_TURN && !TAILQ_EMPTY(&hub->to_scan); i++)
        scan_next(hub);
    note_read(hub);
    if (!TAILQ_EMPTY(&hub->to_scan))
        loop_timer_arm(&hub->agent->loop, &hub->scan_timer, 0, on_more);
}
