/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <stdint.h>

/* Return how long all processors of the machine together were idle since its start, in
 * milliseconds. The time that a processor waited for a disk does not count (proc_stat(5)). 0:
 * cannot read it. */
uint64_t idle_time_ms(void);
