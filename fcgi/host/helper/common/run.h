/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Other programs, by their whole path or found in PATH. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define RUN_CANNOT 127

/* Run a command and wait for it. quiet: its standard error is dropped. Returns its exit status, 128
 * and more for a signal, RUN_CANNOT when it could not be started. */
int run_wait(char *const command[], bool quiet);

/* The first bytes of its standard output, without its standard error; the caller frees it. NULL:
 * it failed, or could not be started. */
char *run_read(char *const command[], size_t most);

/* Become a command, found in PATH where it has no slash. Returns RUN_CANNOT, with a message. */
int run_become(const char *program, char *const command[]);

/* The first of these paths that can be run, or the last one. */
const char *run_first_of(const char *const paths[], size_t count);
