/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "limits/spread.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"

/* From the first change to the next look: liblxc sets the values of a new group meanwhile, and many
 * changes need one look. */
#define SETTLE_MS   500
#define SPREAD_MAX  4096
#define NAME_SIZE   64
#define EVENTS_SIZE 4096
/* A group begins or ends, or an event was lost. */
#define GROUP_EVENTS (IN_CREATE | IN_DELETE | IN_Q_OVERFLOW)

struct member {
    char instance[NAME_SIZE];
    unsigned wanted;
    struct cpus cpus;
};

/* Watches of weights. */
struct watches {
    int *list;
    size_t count, room;
};

struct spread {
    int inotify;
    int64_t due_ms;         /* monotonic; INT64_MAX: not due */
    struct watches watches; /* of the last run */
};

/* --- watching --- */

static int watch(const struct spread *spread, int folder, const char *file, uint32_t events)
{
    char path[NAME_SIZE];
    snprintf(path, sizeof path, "/proc/self/fd/%d/%s", folder, file);
    return inotify_add_watch(spread->inotify, path, events);
}

int spread_open(struct spread **out, const struct groups *groups, struct error **err)
{
    struct spread *spread = xcalloc(1, sizeof *spread);
    *out = spread;
    spread->inotify = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    if (spread->inotify < 0 || watch(spread, groups->cpuset, ".", IN_CREATE | IN_DELETE) < 0)
        return error_set_errno(err, ERR_CONFIG, errno, "cannot watch control groups");
    return 0;
}

void spread_close(struct spread *spread)
{
    if (!spread)
        return;
    cleanup_close_(&spread->inotify);
    free(spread->watches.list);
    free(spread);
}

int spread_fd(const struct spread *spread)
{
    return spread->inotify;
}

/* Read the events, and return whether one has one of these kinds. */
static bool has_event(const struct spread *spread, uint32_t kinds)
{
    _Alignas(struct inotify_event) char events[EVENTS_SIZE];
    ssize_t size;
    bool found = false;
    while ((size = read(spread->inotify, events, sizeof events)) > 0)
        for (const char *at = events; at < events + size;) {
            const struct inotify_event *event = (const void *)at;
            found = found || event->mask & kinds;
            at += sizeof *event + event->len;
        }
    return found;
}

static void look(struct spread *spread, uint32_t kinds)
{
    if (has_event(spread, kinds) && spread->due_ms == INT64_MAX)
        spread->due_ms = clock_monotonic_ms() + SETTLE_MS;
}

void spread_look(struct spread *spread)
{
    look(spread, GROUP_EVENTS | IN_MODIFY);
}

void spread_pass_over_weights(struct spread *spread)
{
    look(spread, GROUP_EVENTS);
}

int spread_wait_ms(const struct spread *spread, int most_ms)
{
    if (spread->due_ms == INT64_MAX)
        return most_ms;
    int64_t left_ms = spread->due_ms - clock_monotonic_ms();
    int wait_ms = left_ms > 0 ? (int)left_ms : 0;
    return most_ms < 0 || wait_ms < most_ms ? wait_ms : most_ms;
}

/* --- spreading --- */

/* Watch the weight of an instance. If this fails, a change of its size is seen later. */
static void watch_weight(const struct spread *spread, const struct groups *groups,
                         const char *instance, const struct instance_group *group,
                         struct watches *watches)
{
    int number = watch(spread, group->cpu, groups_weight_file(groups), IN_MODIFY);
    if (number < 0) {
        log_info("cannot watch the weight of an instance; a change of its size is noticed later",
                 LOG_STR("instance", instance), LOG_INT("errno", errno));
        return;
    }
    if (watches->count == watches->room) {
        watches->room = watches->room ? 2 * watches->room : 64;
        watches->list = xreallocarray(watches->list, watches->room, sizeof *watches->list);
    }
    watches->list[watches->count++] = number;
}

static int by_number(const void *a, const void *b)
{
    int left = *(const int *)a, right = *(const int *)b;
    return (left > right) - (left < right);
}

/* Replace the watches of the last run. The kernel keeps those of ended groups until they are
 * removed. */
static void keep_watches(struct spread *spread, const struct watches *fresh)
{
    if (fresh->count)
        qsort(fresh->list, fresh->count, sizeof *fresh->list, by_number);
    for (size_t i = 0; i < spread->watches.count; i++) {
        const int *old = &spread->watches.list[i];
        if (!fresh->count || !bsearch(old, fresh->list, fresh->count, sizeof *old, by_number))
            inotify_rm_watch(spread->inotify, *old);
    }
    free(spread->watches.list);
    spread->watches = *fresh;
}

/* Read an instance. Returns false when it has ended, or is just beginning or ending: liblxc sets
 * the weight before the processors. */
static bool read_member(const struct spread *spread, const struct groups *groups,
                        struct watches *watches, struct member *member)
{
    struct instance_group group;
    error_auto ignored = NULL;
    if (group_open(groups, member->instance, &group, &ignored) < 0)
        return false;
    watch_weight(spread, groups, member->instance, &group, watches);
    bool known = group_cpus(groups, &group, &member->cpus, &member->wanted, &ignored) == 0 &&
                 cpus_count(&member->cpus);
    group_close(&group);
    return known;
}

static struct member *read_members(struct spread *spread, const struct groups *groups,
                                   size_t *count)
{
    struct member *members = NULL;
    struct watches watches = {.list = NULL};
    size_t room = 0;
    autofree char *prefix = groups_prefix(groups);
    int fd = openat(groups->cpuset, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *all = fd < 0 ? NULL : fdopendir(fd);
    *count = 0;
    for (const struct dirent *entry; all && *count < SPREAD_MAX && (entry = readdir(all));) {
        const char *instance = entry->d_name + strlen(prefix);
        if (!str_starts_with(entry->d_name, prefix) || !order_name_is_valid(instance))
            continue;
        if (*count == room) {
            room = room ? 2 * room : 64;
            members = xreallocarray(members, room, sizeof *members);
        }
        snprintf(members[*count].instance, NAME_SIZE, "%s", instance);
        *count += read_member(spread, groups, &watches, &members[*count]);
    }
    if (all)
        closedir(all);
    keep_watches(spread, &watches);
    return members;
}

/* Returns whether the instance has the processors; it keeps its own where the kernel refuses. */
static bool give(const struct groups *groups, const struct member *member)
{
    struct instance_group group;
    error_auto err = NULL;
    if (group_open(groups, member->instance, &group, &err) < 0)
        return true; /* it has ended */
    bool given = group_set_cpus(&group, &member->cpus, &err) == 0;
    if (!given)
        log_info("cannot change the processors of an instance; it keeps its own",
                 LOG_STR("instance", member->instance), LOG_ERROR(err));
    group_close(&group);
    return given;
}

static void move(struct groups *groups, const struct cpus *there, struct member *member)
{
    const struct cpus before = member->cpus;
    cpus_use(&before, &groups->uses, -1);
    cpus_choose(&member->cpus, there, member->wanted, &groups->uses);
    bool moves = memcmp(&before, &member->cpus, sizeof before) != 0;
    cpus_use(!moves || give(groups, member) ? &member->cpus : &before, &groups->uses, 1);
}

void spread_run(struct spread *spread, struct groups *groups)
{
    struct cpus there;
    size_t count;
    error_auto err = NULL;
    if (spread->due_ms > clock_monotonic_ms())
        return;
    spread->due_ms = INT64_MAX;
    if (groups_cpus(groups, &there, &err) < 0) {
        log_warning("cannot distribute the processors; instances keep their own", LOG_ERROR(err));
        return;
    }
    autofree struct member *members = read_members(spread, groups, &count);
    memset(&groups->uses, 0, sizeof groups->uses);
    for (size_t i = 0; i < count; i++)
        cpus_use(&members[i].cpus, &groups->uses, 1);
    for (size_t i = 0; i < count; i++)
        move(groups, &there, &members[i]);
}
