/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Correct the timers in a memory image that are file descriptors (timerfd). */
#pragma once

/* After a dump: correct timers that CRIU 4.2 restores wrongly. A periodic timer that has expired
 * and was not read has 0 time left. CRIU sets this value, but the kernel takes 0 as "disarmed", so
 * the timer never fires again. This call changes the value to 1 ns. */
void image_mend_timers(const char *folder);
