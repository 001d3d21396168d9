/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Notices between processes of one deployment on one machine: a process that adds work wakes the
 * process that does it. A notice carries no data. The receiver also checks by itself from time to
 * time, so a lost notice, or one on another machine, only costs time.
 */
#pragma once

#include <stdbool.h>

/* NOTIFY_NONE: there are no notices. */
enum notify_kind {
    NOTIFY_NONE,
    NOTIFY_OPERATIONS,
    NOTIFY_POOL, /* instances were taken from the warm pool */
    NOTIFY_WORK, /* volumes, checkpoints, sizes */
    NOTIFY_BUILDS,
    NOTIFY_POLICIES,
    NOTIFY_EVENTS,     /* some wait for their numbers */
    NOTIFY_DELIVERIES, /* events have their numbers and can be delivered */
    NOTIFY_WEBHOOKS,   /* webhooks have changed */
    NOTIFY_FORKS,      /* sandboxes of forks are to be started */
    NOTIFY_MOVES,      /* sandboxes are to move to other hosts */
    NOTIFY_COUNT
};

/* Open a socket for notices of one kind. scope: the same text on both sides, such as a path of the
 * deployment. Returns -1 when too many receivers wait already, or for NOTIFY_NONE; notify_wait()
 * then sleeps. */
int notify_open(const char *scope, enum notify_kind kind);
void notify_close(int fd); /* -1 is allowed */

/* Wait for a notice, or that long; a signal also ends the wait. Several notices count as one.
 * Returns whether one came. */
bool notify_wait(int fd, unsigned ms);

/* Notify all receivers of that kind. */
void notify_send(const char *scope, enum notify_kind kind);
