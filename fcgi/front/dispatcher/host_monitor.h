/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Monitor one host for sandboxes that stop by themselves: a process inside powered them off, they
 * ran out of memory, or the host rebooted. The monitor marks them as stopped, and a resume starts
 * them from their disk.
 *
 * The host's runtime sends an event when an instance ends. A listing of the whole host every few
 * seconds finds the ends without an event; it comes every second while no events arrive. A guest
 * that reboots is down for some tenths of a second. So the monitor looks again at an instance that
 * was down in a listing, before it checks the instance.
 */
#pragma once

#include "sandbox/lifecycle.h"

struct host_monitor;

/* Create a monitor. It calls restarted for each instance that has restarted without sandlot. */
struct host_monitor *host_monitor_new(struct worker *worker, uint32_t host_id,
                                      void (*restarted)(const char *instance_name));
void host_monitor_free(struct host_monitor *monitor);

/* Wait for events, half a second at most, and do the work that is due. A host that hangs takes some
 * seconds. */
void host_monitor_turn(struct host_monitor *monitor);
