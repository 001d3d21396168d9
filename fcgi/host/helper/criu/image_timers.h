/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Timers that are file descriptors (timerfd), in a memory image. */
#pragma once

/* After a dump: correct what CRIU 4.2 restores wrongly. A periodic timer that has expired and was
 * not read yet has no time left, and CRIU sets it to that: the kernel takes 0 for "disarmed", so it
 * never fires again. It gets a nanosecond. */
void image_mend_timers(const char *folder);
