/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The background worker: whatever is due by the database's word, one piece at a time. */
#pragma once

#include <signal.h>

#include "worker/worker.h"

#define DISPATCHER_NAME "sandlot-dispatcher"

/* What each process of a dispatcher opens for itself; as worker_open(). */
int dispatcher_open(const struct settings *settings, struct worker *worker, struct error **err);

/* Work until *stop is set; the piece in hand is finished first. */
void dispatcher_run(struct worker *worker, const volatile sig_atomic_t *stop);

/* Watch the deadlines alone until *stop is set. Nothing here waits for a runtime, so each deadline
 * is acted on in its second, however long the work takes that follows. */
void dispatcher_watch(struct worker *worker, const volatile sig_atomic_t *stop);

/* Build template versions and remove deleted ones, until *stop is set. */
void dispatcher_build(struct worker *worker, const volatile sig_atomic_t *stop);

/* Take samples of what running sandboxes use, until *stop is set. */
void dispatcher_sample(struct worker *worker, const volatile sig_atomic_t *stop);

/* Watch the hosts for sandboxes that go down by themselves, until *stop is set: each in a process
 * of its own, so that one that hangs delays no other. Of all dispatchers one does it. */
void dispatcher_watch_hosts(struct worker *worker, const volatile sig_atomic_t *stop);

/* Look after the agents of running sandboxes, until *stop is set: at the interval of the samples,
 * and at once when dispatcher_watch_hosts() of this dispatcher saw a guest reboot. */
void dispatcher_tend_agents(struct worker *worker, const volatile sig_atomic_t *stop);

/* Before the processes of both are started. Returns -1 with errno. */
int dispatcher_prepare(void);

/* Apply network policies that are due and compare the firewalls with the rows, until *stop is set.
 * A firewall that does not answer keeps nothing else waiting. */
void dispatcher_apply_policies(struct worker *worker, const volatile sig_atomic_t *stop);
