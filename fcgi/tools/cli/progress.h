/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A line on standard error that says how far a transfer or a build is; nothing where that is no
 * terminal. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Return whether there is somebody to show it to. */
bool progress_is_wanted(void);

/* Show the progress. total 0: not known. */
void progress_show(const char *name, int64_t done, int64_t total);

/* Show that a number of steps is over, and which one runs for how long. */
void progress_show_steps(size_t done, size_t total, const char *title, double seconds);

/* Show why the program waits, and how long. */
void progress_show_wait(const char *why, unsigned seconds);

/* Remove the line: the transfer is over, or other text follows. */
void progress_end(void);
