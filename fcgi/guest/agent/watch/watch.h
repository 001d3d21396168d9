/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Watching directories, by one inotify instance for the whole agent. The kernel counts instances
 * for each machine and not for each sandbox, so the agent has one only while there are watchers.
 *
 * A watcher has a place for each directory that it watches. The agent reads a few directories
 * between two turns of the loop, so a large tree delays no other client.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/queue.h>

#include "agent/common/rpc_error.h"
#include "base/loop.h"

#define WATCHERS_MAX     1024
#define WATCH_PLACES_MAX 65536 /* of all watchers together */
#define WATCH_BUCKETS    1024

struct agent;
struct watcher;

struct watch_listener {
    /* All that was there is being watched (error NULL), or cannot be. Called once, never before
     * watcher_new() has returned. */
    void (*ready)(struct watcher *watcher, const struct rpc_error *error);
    /* {"name","type","entry"?}; the reference is handed over. */
    void (*event)(struct watcher *watcher, json_t *event);
    /* Events were lost, and more can be lost while some places wait to be read. */
    void (*lost)(struct watcher *watcher);
    /* The path no longer leads to the directory that is watched: no useful event follows. */
    void (*gone)(struct watcher *watcher);
};

struct watch_place {
    LIST_ENTRY(watch_place) bucket_link;
    TAILQ_ENTRY(watch_place) link; /* of the watcher, or of the hub's dead ones */
    TAILQ_ENTRY(watch_place) scan_link;
    struct watcher *watcher; /* NULL: dead */
    int wd;
    bool to_scan;
    bool fresh;  /* created after the watcher was ready: its entries are new */
    bool stale;  /* not found again since events were lost */
    char name[]; /* relative to the watcher's directory, "" for that itself */
};
TAILQ_HEAD(watch_place_list, watch_place);

struct watch_hub {
    struct agent *agent;
    struct loop_source source;
    struct loop_timer scan_timer;
    LIST_HEAD(, watch_place) buckets[WATCH_BUCKETS]; /* by wd */
    LIST_HEAD(, watcher) watchers;
    struct watch_place_list to_scan, dead;
    size_t watcher_count, place_count;
};

struct watch_options {
    bool recursive, with_entry, allow_network;
};

struct watcher {
    LIST_ENTRY(watcher) link;
    struct watch_hub *hub;
    const struct watch_listener *listener;
    void *owner; /* the listener's */
    struct watch_options options;
    struct watch_place_list places;
    size_t unscanned; /* places that wait to be read */
    size_t stale;     /* places that may be elsewhere by now */
    bool is_ready;
    char *path;
};

/* Watch the directory at path (absolute). RPC_NOT_FOUND; RPC_INVALID_ARGUMENT: no directory, or
 * on a network mount that was not allowed; RPC_RESOURCE_EXHAUSTED. */
int watcher_new(struct agent *agent, const char *path, const struct watch_options *options,
                const struct watch_listener *listener, void *owner, struct watcher **watcher,
                struct rpc_error *error);

/* Free a watcher, but not from within a listener's call. */
void watcher_free(struct watcher *watcher);

/* --- between the parts of this concept --- */

/* Watch one more directory; a directory that is gone again is not an error. */
int watch_place_add(struct watcher *watcher, const char *name, bool fresh, struct rpc_error *error);

/* Drop the places that were not found again in the tree. */
void watch_drop_stale(struct watcher *watcher);

/* Notify the watcher of one change. */
void watch_tell(struct watcher *watcher, const char *type, const char *name);

/* Read some of the waiting directories; a timer continues when there are more. */
void watch_scan(struct watch_hub *hub);

/* Return "below" in the directory of a place; "" for the place itself. The caller frees it. */
char *watch_join(const char *directory, const char *below);
