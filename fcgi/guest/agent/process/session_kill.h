/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Signals for a session of processes. */
#pragma once

#include <sys/types.h>

/* Send SIGKILL to every process of the session that this process leads, in the background and in
 * other process groups too. The leader must not have been reaped. A program that made a session of
 * its own (setsid) is not in it. */
void session_kill(pid_t leader);

/* Send a signal to the leader of a session: SIGTERM, SIGINT, SIGQUIT and SIGHUP to its process
 * group too. Returns -1 with errno on failure. */
int session_signal(pid_t leader, int number);
