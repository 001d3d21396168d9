/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Settings of the kernel for the calling process. */
#pragma once

/* Make the memory of this process unreadable for other processes of the same user: no ptrace, no
 * /proc/PID/mem, no core dump. To be called once at start, before secrets are read; exec() ends it.
 * Programs that are built with a sanitizer stay as they are, because its leak check traces them. */
void process_hide_memory(void);
