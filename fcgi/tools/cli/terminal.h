/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The terminal that this process stands at. */
#pragma once

#include <stdbool.h>

/* Pass keys on as they are typed, until terminal_restore() or the end of the process. */
void terminal_make_raw(void);
void terminal_restore(void);

/* Read its size; 80 by 24 where it has none. */
void terminal_size(int *cols, int *rows);

/* Read a line without showing it; the caller's, to be wiped. NULL: nothing came. */
char *terminal_read_secret(const char *prompt);
