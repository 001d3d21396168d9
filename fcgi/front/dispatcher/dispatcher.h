/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The background worker: does the work that is due in the database. Any number of dispatchers may
 * run; jobs.h has their jobs. */
#pragma once

#include "dispatcher/jobs.h"

#define DISPATCHER_NAME "sandlot-dispatcher"

/* Open the worker of one process of a dispatcher; like worker_open(). */
int dispatcher_open(const struct settings *settings, struct worker *worker, struct error **err);

/* Do the jobs of a process until *stop is set; finish the current piece of work first. */
void dispatcher_serve(struct worker *worker, enum dispatcher_process process,
                      const volatile sig_atomic_t *stop);

/* Prepare the shared parts before the processes start. Returns -1 with errno. */
int dispatcher_prepare(void);
