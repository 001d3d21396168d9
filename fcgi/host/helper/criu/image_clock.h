/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Correct the clock CLOCK_BOOTTIME in a memory image. */
#pragma once

#include <time.h>

/* After a dump: write the clock with numbers that have room for any time. The file gets its size.
 */
void image_widen_clock(const char *folder);

/* Before a restore: let the container's CLOCK_BOOTTIME continue with the host's. It then counts the
 * pause, as it counts a suspend of a machine. now is the host's time on this clock.
 *
 * CRIU continues the clock at its value in the image. The start times of processes would then be
 * too early by the length of the pause. Programs add them to the time of the boot in /proc/stat,
 * which lxcfs takes from the host.
 *
 * The clock never goes back: an image keeps a later time of another host. The file keeps its
 * size. A clock that is not widened stays as it is. */
void image_advance_clock(const char *folder, const struct timespec *now);
