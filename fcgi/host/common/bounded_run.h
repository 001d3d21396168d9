/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Run a command with a time limit that includes its descendants. */
#pragma once

#include "base/error.h"

/* Run a command and wait for its end. *status: as from waitpid(). After limit_s, kill the command
 * and all its descendants, including daemons (the monitor of a container, and the container). When
 * the command ends in time, its descendants keep running. Errors: ERR_RUNTIME_STUCK,
 * ERR_INTERNAL. */
int bounded_run(char *const command[], unsigned limit_s, int *status, struct error **err);

/* Do the same as bounded_run(), but call before() in the new process first. When before() returns
 * -1 with errno, the command is not run, and the status is that of exit code 127. NULL: no call. */
int bounded_run_after(int (*before)(void), char *const command[], unsigned limit_s, int *status,
                      struct error **err);
