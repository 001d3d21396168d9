/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Run other programs, by path or found in PATH. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define RUN_CANNOT 127

/* Run a command and wait for its end. quiet: discard its standard error. Returns its exit status,
 * 128 plus the number of a signal, or RUN_CANNOT when it cannot be started. */
int run_wait(char *const command[], bool quiet);

/* Return the first bytes of a command's standard output; its standard error is discarded. The
 * caller frees the text. NULL: the command failed, or cannot be started. */
char *run_read(char *const command[], size_t most);

/* Replace this process with a command, found in PATH if its name has no slash. Returns RUN_CANNOT,
 * after a message, only on failure. */
int run_become(const char *program, char *const command[]);

/* Return the first of these paths that is executable, or the last one. */
const char *run_first_of(const char *const paths[], size_t count);
