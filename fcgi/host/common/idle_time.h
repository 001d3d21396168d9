/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <stdint.h>

/* How long the processors of the machine, all together, have had nothing to do since its start, in
 * milliseconds: while one waits for a disk does not count (proc_stat(5)). 0: not told. */
uint64_t idle_time_ms(void);
