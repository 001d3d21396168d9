/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Ending a session of processes as a whole. */
#pragma once

#include <sys/types.h>

/* Send SIGKILL to every process of the session that this process leads, in the background and in
 * other process groups too. The leader must not have been reaped. A program that made a session of
 * its own (setsid) is not in it. */
void session_kill(pid_t leader);
