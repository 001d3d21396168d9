/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How the end of a process reads in an end event. */
#pragma once

#include <jansson.h>

#include "agent/process/process.h"

/* The message for a program that ran out of memory. */
#define PROCESS_OUT_OF_MEMORY \
    "out of memory: the kernel killed a process of the sandbox; give it more memory_mb"

/* {"event":{"end":{…}}}: exitCode, exited, status, and error unless it was exit code 0;
 * outOfMemory where that was the cause. */
json_t *process_end_event(const struct process_end *how);
