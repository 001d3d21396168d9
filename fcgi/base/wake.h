/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who makes work wakes who waits for it, between processes of one deployment on one machine. A wake
 * says nothing but "look": whoever waits looks by itself from time to time, so that one which is
 * lost, or was sent on another machine, costs nothing but that time.
 */
#pragma once

#include <stdbool.h>

/* WAKE_NONE: nobody sends any. */
enum wake_kind { WAKE_NONE, WAKE_OPERATIONS, WAKE_POOL, WAKE_BUILDS, WAKE_POLICIES };

/* A socket on which wakes of that kind arrive; scope: the same text on both sides, such as a path
 * of the deployment. -1: there is none, because too many wait already, or there are
 * no wakes of that kind; wake_wait() then sleeps. */
int wake_open(const char *scope, enum wake_kind kind);
void wake_close(int fd); /* -1 is allowed */

/* Wait until one comes, or that long; signals end it too. Those that came meanwhile are one.
 * Returns whether any came. */
bool wake_wait(int fd, unsigned ms);

/* Wake all who wait for that kind. */
void wake_send(const char *scope, enum wake_kind kind);
