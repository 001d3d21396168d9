/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The background worker: what is due by the database's word. Any number may run; what they do is in
 * jobs.h. */
#pragma once

#include "dispatcher/jobs.h"

#define DISPATCHER_NAME "sandlot-dispatcher"

/* What each process of a dispatcher opens for itself; as worker_open(). */
int dispatcher_open(const struct settings *settings, struct worker *worker, struct error **err);

/* Do the jobs of a process until *stop is set; the piece in hand is finished first. */
void dispatcher_serve(struct worker *worker, enum dispatcher_process process,
                      const volatile sig_atomic_t *stop);

/* Before the processes are started. Returns -1 with errno. */
int dispatcher_prepare(void);
