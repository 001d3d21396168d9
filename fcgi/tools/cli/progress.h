/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A line on standard error that says how far a transfer is; nothing where that is no terminal. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Whether there is somebody to show it to. */
bool progress_is_wanted(void);

/* total 0: not known. */
void progress_show(const char *name, int64_t done, int64_t total);

/* The transfer is over: the line goes. */
void progress_end(void);
