/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Control the terminal of this process. */
#pragma once

#include <stdbool.h>

/* Deliver each key at once and unchanged, until terminal_restore() or the end of the process. */
void terminal_make_raw(void);
void terminal_restore(void);

/* Read the size of the terminal; 80 by 24 if it is unknown. */
void terminal_size(int *cols, int *rows);

/* Read a line without showing it. The caller wipes and frees it. NULL: there was no line. */
char *terminal_read_secret(const char *prompt);
