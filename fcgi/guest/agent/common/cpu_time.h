/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The processor time of the sandbox since its start, from /proc/stat (proc_stat(5)). If the runtime
 * mounts lxcfs over this file, it has the sandbox's own time. */
#pragma once

#include <stdint.h>

struct cpu_time {
    uint64_t busy, all; /* ticks of all processors together, see cpu_time_tick_ms() */
    unsigned count;     /* of processors */
};

/* Read the processor times. All members are 0 when /proc/stat cannot be read. */
void cpu_time_read(struct cpu_time *time);

/* Return the length of a tick in milliseconds. */
unsigned cpu_time_tick_ms(void);
