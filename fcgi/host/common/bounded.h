/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A command under a time limit, with everything that comes of it. */
#pragma once

#include "base/error.h"

/* Run it and wait. *status: as waitpid() gives it. When the limit is over it is killed with all its
 * descendants, also those that have made themselves independent (the monitor of a container, and
 * the container). Those of a command that ends in time live on. Errors: ERR_RUNTIME_STUCK,
 * ERR_INTERNAL. */
int bounded_run(char *const command[], unsigned limit_s, int *status, struct error **err);

/* As bounded_run(). before: called in the new process before it becomes the command, which it does
 * not when -1 is returned, with errno; NULL: nothing is. */
int bounded_run_after(int (*before)(void), char *const command[], unsigned limit_s, int *status,
                      struct error **err);
