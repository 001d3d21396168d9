/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who makes work notifies who waits for it, between processes of one deployment on one machine. A
 * notice says nothing but "look": whoever waits looks by itself from time to time, so that one
 * which is lost, or was sent on another machine, costs nothing but that time.
 */
#pragma once

#include <stdbool.h>

/* NOTIFY_NONE: nobody sends any. */
enum notify_kind {
    NOTIFY_NONE,
    NOTIFY_OPERATIONS,
    NOTIFY_POOL, /* instances were taken out of it */
    NOTIFY_WORK, /* volumes, checkpoints, sizes */
    NOTIFY_BUILDS,
    NOTIFY_POLICIES,
    NOTIFY_EVENTS,     /* some wait for their numbers */
    NOTIFY_DELIVERIES, /* events have their numbers and can be delivered */
    NOTIFY_WEBHOOKS,   /* webhooks have changed */
    NOTIFY_FORKS,      /* sandboxes of forks are to be started */
    NOTIFY_MOVES,      /* sandboxes are to move to other hosts */
};

/* A socket on which notices of that kind arrive; scope: the same text on both sides, such as a path
 * of the deployment. -1: there is none, because too many wait already, or there are
 * no notices of that kind; notify_wait() then sleeps. */
int notify_open(const char *scope, enum notify_kind kind);
void notify_close(int fd); /* -1 is allowed */

/* Wait until one comes, or that long; signals end it too. Those that came meanwhile are one.
 * Returns whether any came. */
bool notify_wait(int fd, unsigned ms);

/* Notify all who wait for that kind. */
void notify_send(const char *scope, enum notify_kind kind);
