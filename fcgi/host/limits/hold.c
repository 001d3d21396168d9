/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "limits/hold.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/mem.h"

#define HELD_MAX 4096

struct held {
    int watch, fd; /* fd: cpuset.cpus of the instance */
    unsigned wanted;
    struct cpus cpus;
};

struct hold {
    int inotify;
    struct held *list;
    unsigned count, room;
};

int hold_open(struct hold **hold, struct error **err)
{
    int fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    if (fd < 0)
        return error_set_errno(err, ERR_CONFIG, errno, "inotify cannot be used");
    *hold = xcalloc(1, sizeof **hold);
    (*hold)->inotify = fd;
    return 0;
}

static void let_go(struct hold *hold, unsigned at)
{
    struct held *held = &hold->list[at];
    inotify_rm_watch(hold->inotify, held->watch);
    close(held->fd);
    *held = hold->list[--hold->count];
}

void hold_close(struct hold *hold)
{
    if (!hold)
        return;
    while (hold->count)
        let_go(hold, hold->count - 1);
    close(hold->inotify);
    free(hold->list);
    free(hold);
}

static struct held *find(struct hold *hold, int watch)
{
    for (unsigned i = 0; i < hold->count; i++)
        if (hold->list[i].watch == watch)
            return &hold->list[i];
    return NULL;
}

static struct held *add_room(struct hold *hold)
{
    if (hold->count == hold->room) {
        hold->room = hold->room ? hold->room * 2 : 16;
        hold->list = xreallocarray(hold->list, hold->room, sizeof *hold->list);
    }
    return &hold->list[hold->count++];
}

int hold_add(struct hold *hold, int group, const struct cpus *cpus, struct error **err)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d/cpuset.cpus", group);
    if (hold->count >= HELD_MAX)
        return error_set(err, ERR_RUNTIME_REFUSED,
                         "too many instances wait until Incus has their processors");
    autoclose int fd = openat(group, "cpuset.cpus", O_RDWR | O_NOFOLLOW | O_CLOEXEC);
    int watch = fd < 0 ? -1 : inotify_add_watch(hold->inotify, path, IN_MODIFY);
    if (watch < 0)
        return error_set_errno(err, ERR_RUNTIME_REFUSED, errno, "cpuset.cpus cannot be watched");
    struct held *held = find(hold, watch);
    if (held)
        close(held->fd);
    else
        held = add_room(hold);
    *held = (struct held){watch, steal_fd(&fd), cpus_count(cpus), *cpus};
    return 0;
}

int hold_fd(const struct hold *hold)
{
    return hold->inotify;
}

unsigned hold_count(const struct hold *hold)
{
    return hold->count;
}

static int read_now(const struct held *held, struct cpus *now)
{
    char text[CPUS_TEXT_SIZE];
    error_auto ignored = NULL;
    ssize_t length = pread(held->fd, text, sizeof text - 1, 0);
    if (length < 0)
        return -1; /* the instance has ended */
    text[length] = '\0';
    text[strcspn(text, "\n")] = '\0';
    return cpus_read(text, now, &ignored);
}

/* Write the processors again if incusd has changed them. Returns whether to keep watching. */
static bool keep(const struct held *held)
{
    char text[CPUS_TEXT_SIZE];
    struct cpus now;
    if (read_now(held, &now) < 0)
        return false;
    if (!memcmp(&now, &held->cpus, sizeof now))
        return true;
    if (cpus_count(&now) == held->wanted)
        return false;
    cpus_write(&held->cpus, text);
    if (pwrite(held->fd, text, strlen(text), 0) < 0)
        log_warning("an instance does not keep its processors", LOG_STR("processors", text),
                    LOG_INT("errno", errno));
    return true;
}

void hold_sweep(struct hold *hold)
{
    for (unsigned i = hold->count; i-- > 0;)
        if (!keep(&hold->list[i]))
            let_go(hold, i);
}

/* incusd writes to all instances in one go, so any event means: check all. */
void hold_look(struct hold *hold)
{
    char events[4096];
    while (read(hold->inotify, events, sizeof events) > 0)
        ;
    hold_sweep(hold);
}
