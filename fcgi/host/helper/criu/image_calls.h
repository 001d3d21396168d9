/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Restart the timed system calls in a memory image that the dump has interrupted. */
#pragma once

/* After a dump: let threads repeat a call with a time limit that the dump has interrupted. The
 * kernel would continue such a call with the rest of its time, which CRIU cannot read. So CRIU 4.2
 * lets the call fail with EINTR, which a program without signal handlers does not expect.
 *
 * The call gets the rest of its time if the kernel has written the rest to the program's memory,
 * or if the limit is a point of time. Otherwise its time starts again, so that no call ends early.
 * FUTEX_WAIT with a span of time keeps EINTR, which its callers must expect anyway. Only for
 * x86-64. */
void image_restart_calls(const char *folder);
