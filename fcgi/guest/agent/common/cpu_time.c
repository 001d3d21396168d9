/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/common/cpu_time.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "agent/common/proc_file.h"
#include "base/mem.h"

#define STAT_SIZE (64 * 1024)

void cpu_time_read(struct cpu_time *time)
{
    uint64_t t[8] = {0}; /* user nice system idle iowait irq softirq steal */
    autofree char *text = proc_file_read("/proc/stat", STAT_SIZE);
    *time = (struct cpu_time){0};
    if (sscanf(text,
               "cpu %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64
               " %" SCNu64 " %" SCNu64,
               &t[0], &t[1], &t[2], &t[3], &t[4], &t[5], &t[6], &t[7]) < 4)
        return;
    for (size_t i = 0; i < ARRAY_SIZE(t); i++)
        time->all += t[i];
    time->busy = time->all - t[3] - t[4];
    for (const char *line = text; (line = strstr(line, "\ncpu")); line++)
        time->count++;
}

unsigned cpu_time_tick_ms(void)
{
    long ticks = sysconf(_SC_CLK_TCK);
    return ticks > 0 && ticks <= 1000 ? (unsigned)(1000 / ticks) : 10;
}
