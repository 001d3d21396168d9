/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Why a program failed, where the agent knows more than its status. */
#pragma once

#include <sys/types.h>

#include "agent/process/group_counts.h"

/* In answers by these names. */
enum process_reason {
    REASON_NONE,
    REASON_OUT_OF_MEMORY, /* the kernel killed it, or one of its processes, for lack of memory */
    REASON_PROCESS_LIMIT, /* a process of the sandbox could not start another one */
    REASON_DISK_FULL,     /* when it ended */
    REASON_TIME_LIMIT,    /* its own */
    REASON_SIGNAL
};

#define PROCESS_MESSAGE_SIZE 160

/* How a program ended. */
struct process_end {
    int wait_status;
    enum process_reason reason;
    char message[PROCESS_MESSAGE_SIZE]; /* the reason in words; "" without one */
    int64_t at_ms;                      /* of the exit, monotonic */
};

/* Return the name in answers; NULL: none. */
const char *process_reason_name(enum process_reason reason);

/* Find the reason of a program that failed and is not reaped yet. A program that fails while the
 * kernel kills or refuses processes counts as such. A shell, make or a test runner ends with its
 * own code if it loses a child. */
void process_reason_find(struct process_end *end, pid_t pid, const struct group_counts *before,
                         const struct group_counts *now);

/* Note that the program was ended by its time limit, or by an order of a client. */
void process_reason_time_limit(struct process_end *end);
void process_reason_order(struct process_end *end);
