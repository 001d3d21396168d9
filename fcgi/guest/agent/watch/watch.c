/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/watch/watch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "agent/agent.h"
#include "agent/common/proto.h"
#include "agent/common/users.h"
#include "agent/files/draft.h"
#include "agent/filesystem/fs_entry.h"
#include "base/mem.h"
#include "base/str.h"

#define CHANGES                                                                    \
    (IN_CREATE | IN_MOVED_TO | IN_MODIFY | IN_DELETE | IN_MOVED_FROM | IN_ATTRIB | \
     IN_DELETE_SELF | IN_MOVE_SELF)

static bool is_network(const char *path)
{
    static const unsigned kinds[] = {
        0x6969,     /* NFS */
        0x517b,     /* SMB */
        0xfe534d42, /* SMB 2 */
        0xff534d42, /* CIFS */
        0x65735546, /* FUSE */
        0x01021997, /* 9P */
        0x00c36400, /* Ceph */
        0x5346414f, /* AFS */
        0x73757245, /* Coda */
    };
    struct statfs status;
    if (statfs(path, &status) < 0)
        return false;
    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
        if ((unsigned)status.f_type == kinds[i])
            return true;
    return false;
}

char *watch_join(const char *directory, const char *below)
{
    if (!*below || !*directory)
        return xstrdup(*below ? below : directory);
    return xasprintf(str_ends_with(directory, "/") ? "%s%s" : "%s/%s", directory, below);
}

/* --- places --- */

static struct watch_place *find_place(const struct watcher *watcher, int wd)
{
    struct watch_place *place;
    LIST_FOREACH(place, &watcher->hub->buckets[wd % WATCH_BUCKETS], bucket_link)
    if (place->wd == wd && place->watcher == watcher)
        return place;
    return NULL;
}

static bool is_watched(const struct watch_hub *hub, int wd)
{
    const struct watch_place *place;
    LIST_FOREACH(place, &hub->buckets[wd % WATCH_BUCKETS], bucket_link)
    if (place->wd == wd)
        return true;
    return false;
}

/* Loops over places may have it in hand, so it is freed later, by bury(). */
static void drop_place(struct watch_place *place)
{
    struct watcher *watcher = place->watcher;
    struct watch_hub *hub = watcher->hub;
    if (place->to_scan) {
        TAILQ_REMOVE(&hub->to_scan, place, scan_link);
        watcher->unscanned--;
    }
    watcher->stale -= place->stale;
    LIST_REMOVE(place, bucket_link);
    TAILQ_REMOVE(&watcher->places, place, link);
    TAILQ_INSERT_TAIL(&hub->dead, place, link);
    place->watcher = NULL;
    hub->place_count--;
    if (!is_watched(hub, place->wd))
        inotify_rm_watch(hub->source.fd, place->wd);
}

static void bury(struct watch_hub *hub)
{
    struct watch_place *place;
    while ((place = TAILQ_FIRST(&hub->dead))) {
        TAILQ_REMOVE(&hub->dead, place, link);
        free(place);
    }
}

static int watch_directory(struct watcher *watcher, const char *name, struct rpc_error *error)
{
    autofree char *path = watch_join(watcher->path, name);
    if (!watcher->options.allow_network && is_network(path)) {
        if (*name)
            return -2;
        return rpc_error_set(error, RPC_INVALID_ARGUMENT,
                             "cannot watch '%s', which is on a network mount", path);
    }
    unsigned how = IN_ONLYDIR | (*name ? IN_DONT_FOLLOW : 0);
    int wd = inotify_add_watch(watcher->hub->source.fd, path, CHANGES | how);
    if (wd >= 0)
        return wd;
    if (errno == ENOSPC)
        return rpc_error_set(error, RPC_RESOURCE_EXHAUSTED,
                             "the sandbox watches too many directories");
    return *name ? -2 : rpc_error_set_errno(error, errno, "cannot watch '%s'", path);
}

static void scan_later(struct watch_place *place)
{
    struct watcher *watcher = place->watcher;
    place->to_scan = true;
    TAILQ_INSERT_TAIL(&watcher->hub->to_scan, place, scan_link);
    watcher->unscanned++;
}

int watch_place_add(struct watcher *watcher, const char *name, bool fresh, struct rpc_error *error)
{
    struct watch_hub *hub = watcher->hub;
    if (hub->place_count >= WATCH_PLACES_MAX + watcher->stale)
        return rpc_error_set(error, RPC_RESOURCE_EXHAUSTED,
                             "the sandbox watches too many directories");
    int wd = watch_directory(watcher, name, error);
    if (wd < 0)
        return wd == -2 ? 0 : -1;
    struct watch_place *known = find_place(watcher, wd);
    if (known && !known->stale)
        return 0;
    struct watch_place *place = xcalloc(1, sizeof *place + strlen(name) + 1);
    memcpy(place->name, name, strlen(name) + 1);
    place->watcher = watcher;
    place->wd = wd;
    place->fresh = fresh;
    hub->place_count++;
    LIST_INSERT_HEAD(&hub->buckets[wd % WATCH_BUCKETS], place, bucket_link);
    TAILQ_INSERT_TAIL(&watcher->places, place, link);
    if (watcher->options.recursive)
        scan_later(place);
    if (known) /* the directory may have another name by now */
        drop_place(known);
    return 0;
}

/* Remove the place with that name and all places below it. */
static void drop_tree(struct watcher *watcher, const char *name)
{
    size_t length = strlen(name);
    struct watch_place *place, *next;
    for (place = TAILQ_FIRST(&watcher->places); place; place = next) {
        next = TAILQ_NEXT(place, link);
        if (!strncmp(place->name, name, length) && strchr("/", place->name[length]))
            drop_place(place);
    }
}

/* --- events --- */

static const char *type_of(uint32_t mask)
{
    if (mask & (IN_CREATE | IN_MOVED_TO))
        return "EVENT_TYPE_CREATE";
    if (mask & IN_MODIFY)
        return "EVENT_TYPE_WRITE";
    if (mask & (IN_DELETE | IN_DELETE_SELF))
        return "EVENT_TYPE_REMOVE";
    return mask & (IN_MOVED_FROM | IN_MOVE_SELF) ? "EVENT_TYPE_RENAME" : "EVENT_TYPE_CHMOD";
}

void watch_tell(struct watcher *watcher, const char *type, const char *name)
{
    struct rpc_error ignored;
    json_t *entry = NULL;
    json_t *event = json_object();
    json_object_set_new(event, "name", proto_text(*name ? name : "."));
    json_object_set_new(event, "type", json_string(type));
    if (watcher->options.with_entry) {
        autofree char *path = watch_join(watcher->path, name);
        if (fs_entry_at(path, &entry, &ignored) == 0)
            json_object_set_new(event, "entry", entry);
    }
    watcher->listener->event(watcher, event);
}

/* A file without a name, such as a draft of an upload, is "#" and its inode's number to inotify.
 * One that really is called so is there, or has just gone. */
static bool is_nameless(const struct watcher *watcher, const char *name, const char *file,
                        uint32_t mask)
{
    struct stat status;
    if (*file != '#' || file[1 + strspn(file + 1, "0123456789")] ||
        mask & (IN_DELETE | IN_MOVED_FROM))
        return false;
    autofree char *path = watch_join(watcher->path, name);
    return lstat(path, &status) < 0 && errno == ENOENT;
}

static void on_change(struct watch_place *place, const struct inotify_event *change)
{
    struct watcher *watcher = place->watcher;
    bool of_itself = !change->len;
    /* For a subdirectory, its parent reports the same event. */
    if (!watcher->is_ready || (of_itself && *place->name))
        return;
    /* An upload has a name of its own before it replaces a file. */
    if (!of_itself && str_starts_with(change->name, DRAFT_PREFIX))
        return;
    autofree char *name = watch_join(place->name, of_itself ? "" : change->name);
    if (!of_itself && is_nameless(watcher, name, change->name, change->mask))
        return;
    watch_tell(watcher, type_of(change->mask), name);
    if (!watcher->options.recursive || !(change->mask & IN_ISDIR) || of_itself)
        return;
    struct rpc_error error;
    if (change->mask & IN_MOVED_FROM)
        drop_tree(watcher, name);
    else if (change->mask & (IN_CREATE | IN_MOVED_TO) &&
             watch_place_add(watcher, name, true, &error) < 0)
        watcher->listener->lost(watcher);
}

/* While a tree is first read, a directory in it may come or move: then it is read as well. */
static void on_change_unready(struct watch_place *place, const struct inotify_event *change)
{
    struct rpc_error ignored;
    if (!(change->mask & IN_ISDIR) || !change->len || !place->watcher->options.recursive)
        return;
    autofree char *name = watch_join(place->name, change->name);
    if (change->mask & IN_MOVED_FROM)
        drop_tree(place->watcher, name);
    else if (change->mask & (IN_CREATE | IN_MOVED_TO))
        watch_place_add(place->watcher, name, false, &ignored);
}

/* Read the whole tree again: the lost events may be of directories that came or moved. To remove
 * all watches before would fill the kernel's queue once more. */
static void start_over(struct watcher *watcher)
{
    struct watch_place *place;
    TAILQ_FOREACH(place, &watcher->places, link)
    {
        if (!*place->name && watcher->options.recursive && !place->to_scan)
            scan_later(place);
        watcher->stale += *place->name && !place->stale;
        place->stale = *place->name;
    }
}

void watch_drop_stale(struct watcher *watcher)
{
    struct watch_place *place, *next;
    for (place = TAILQ_FIRST(&watcher->places); place && watcher->stale; place = next) {
        next = TAILQ_NEXT(place, link);
        if (place->stale)
            drop_place(place);
    }
}

static void note_overflow(struct watch_hub *hub)
{
    struct watcher *watcher;
    LIST_FOREACH(watcher, &hub->watchers, link)
    {
        start_over(watcher);
        watcher->listener->lost(watcher);
    }
}

static void dispatch(struct watch_hub *hub, const struct inotify_event *change)
{
    if (change->mask & IN_Q_OVERFLOW) {
        note_overflow(hub);
        return;
    }
    if (change->wd < 0)
        return;
    /* Places that are dropped meanwhile keep their links until they are buried. */
    struct watch_place *place;
    LIST_FOREACH(place, &hub->buckets[change->wd % WATCH_BUCKETS], bucket_link)
    {
        if (place->wd != change->wd || !place->watcher)
            continue;
        struct watcher *watcher = place->watcher;
        bool ends = !*place->name && change->mask & (IN_DELETE_SELF | IN_MOVE_SELF | IN_UNMOUNT);
        if (change->mask & (IN_IGNORED | IN_UNMOUNT))
            drop_place(place);
        else if (watcher->is_ready)
            on_change(place, change);
        else
            on_change_unready(place, change);
        if (ends)
            watcher->listener->gone(watcher);
    }
}

static void on_ready(struct loop_source *source, uint32_t events)
{
    (void)events;
    static char changes[16 * 1024] __attribute__((aligned(__alignof__(struct inotify_event))));
    struct watch_hub *hub = container_of(source, struct watch_hub, source);
    ssize_t size = read(source->fd, changes, sizeof changes);
    users_forget();
    for (ssize_t at = 0; at < size;) {
        const struct inotify_event *change = (const void *)(changes + at);
        dispatch(hub, change);
        at += (ssize_t)(sizeof *change + change->len);
    }
    watch_scan(hub);
    bury(hub);
}

/* --- the hub lives while there is a watcher --- */

static struct watch_hub *hub_get(struct agent *agent, struct rpc_error *error)
{
    struct watch_hub *hub = agent->watch_hub;
    if (hub)
        return hub;
    int fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    if (fd < 0) {
        rpc_error_set_errno(error, errno, "cannot watch directories");
        return NULL;
    }
    hub = xcalloc(1, sizeof *hub);
    if (loop_add(&agent->loop, &hub->source, fd, EPOLLIN, on_ready) < 0) {
        rpc_error_set_errno(error, errno, "cannot watch directories");
        close(fd);
        free(hub);
        return NULL;
    }
    hub->agent = agent;
    TAILQ_INIT(&hub->to_scan);
    TAILQ_INIT(&hub->dead);
    agent->watch_hub = hub;
    return hub;
}

static void hub_free(struct watch_hub *hub)
{
    loop_timer_disarm(&hub->agent->loop, &hub->scan_timer);
    loop_close(&hub->agent->loop, &hub->source);
    hub->agent->watch_hub = NULL;
    free(hub);
}

static void on_scan(struct loop_timer *timer)
{
    struct watch_hub *hub = container_of(timer, struct watch_hub, scan_timer);
    watch_scan(hub);
    bury(hub);
}

int watcher_new(struct agent *agent, const char *path, const struct watch_options *options,
                const struct watch_listener *listener, void *owner, struct watcher **watcher,
                struct rpc_error *error)
{
    struct stat status;
    if (stat(path, &status) < 0)
        return rpc_error_set_errno(error, rpc_errno_of_reading(errno), "cannot watch '%s'", path);
    if (!S_ISDIR(status.st_mode))
        return rpc_error_set(error, RPC_INVALID_ARGUMENT, "'%s' is not a directory", path);
    struct watch_hub *hub = hub_get(agent, error);
    if (!hub)
        return -1;
    struct watcher *w = xcalloc(1, sizeof *w);
    w->hub = hub;
    w->listener = listener;
    w->owner = owner;
    w->options = *options;
    w->path = xstrdup(path);
    TAILQ_INIT(&w->places);
    LIST_INSERT_HEAD(&hub->watchers, w, link);
    hub->watcher_count++;
    int rc = hub->watcher_count > WATCHERS_MAX
                 ? rpc_error_set(error, RPC_RESOURCE_EXHAUSTED, "the sandbox has too many watchers")
                 : watch_place_add(w, "", false, error);
    if (rc < 0) {
        watcher_free(w);
        return -1;
    }
    loop_timer_arm(&agent->loop, &hub->scan_timer, 0, on_scan);
    *watcher = w;
    return 0;
}

void watcher_free(struct watcher *watcher)
{
    struct watch_hub *hub = watcher->hub;
    drop_tree(watcher, "");
    struct watch_place *place;
    while ((place = TAILQ_FIRST(&watcher->places)))
        drop_place(place);
    bury(hub);
    LIST_REMOVE(watcher, link);
    free(watcher->path);
    free(watcher);
    if (!--hub->watcher_count)
        hub_free(hub);
}
