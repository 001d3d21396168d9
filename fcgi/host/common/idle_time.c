/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/idle_time.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "base/mem.h"

uint64_t idle_time_ms(void)
{
    autofclose FILE *file = fopen("/proc/stat", "re");
    uint64_t ticks;
    long a_second = sysconf(_SC_CLK_TCK);
    if (!file || a_second <= 0 || fscanf(file, "cpu %*u %*u %*u %" SCNu64, &ticks) != 1)
        return 0;
    return ticks * 1000 / (uint64_t)a_second;
}
