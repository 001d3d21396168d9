/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A record of the processes of the services, in a file. The next agent kills them after the death
 * of this one. When the sandbox stops, its first process sends their stop signals.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/guest_limits.h"

/* The services of the template and of the create, together with the start command. */
#define SERVICE_RECORDS_MAX (2 * SERVICES_MAX + 1)

struct service_record {
    char name[SERVICE_NAME_MAX + 1];
    pid_t pid;      /* 0: it does not run */
    uint64_t start; /* of the process; with the pid it names a process */
    bool over;      /* the service has ended for good */
    int stop_signal;
};

/* Return the time at which a process started, in ticks of the kernel. 0: there is no process. */
uint64_t service_record_start(pid_t pid);

/* Replace the file. A failure is ignored, and then there is no record. */
void service_records_write(const struct service_record records[], size_t count);

/* Read the file, and return how many records it has; 0: there is no file. Programs of the
 * sandbox with the rights of root can write it, so all values are checked. */
size_t service_records_read(struct service_record records[SERVICE_RECORDS_MAX]);

/* Return whether the process of the record still runs. */
bool service_record_runs(const struct service_record *record);

/* Send each service that runs its stop signal, and wait for the end of all, 5 seconds at most. From
 * then on the agent starts no service again. */
void service_records_stop(void);

/* Return whether the sandbox stops. */
bool service_records_are_stopped(void);
/* For a new agent: the sandbox has started. */
void service_records_begin(void);
