/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Monitoring one host for sandboxes that go down by themselves: someone inside switched them off,
 * they ran out of memory, or the host was started anew. They are stopped then, and a resume starts
 * them from their disk.
 *
 * The host's runtime says what ends at the moment it does. Behind that stands a listing of the
 * whole host every few seconds, which finds what was not said; while nothing is said it comes every
 * second. One that a listing shows to be down may be on its way up again, because a guest that
 * reboots is stopped for some tenths of a second, and so it is looked at again before it is
 * checked.
 */
#pragma once

#include "sandbox/lifecycle.h"

struct host_monitor;

/* restarted is told of each instance that has started anew without our doing. */
struct host_monitor *host_monitor_new(struct worker *worker, uint32_t host_id,
                                      void (*restarted)(const char *instance_name));
void host_monitor_free(struct host_monitor *monitor);

/* Wait for events, half a second at most, and do what is due. Only this host is waited for, and a
 * look at one that hangs takes some seconds. */
void host_monitor_turn(struct host_monitor *monitor);
