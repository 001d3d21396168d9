/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Text from outside as a terminal may show it. */
#pragma once

#include <stdio.h>

#include "base/buffer.h"

/* Append text. Replace unprintable characters by a question mark: control characters (C0, DEL,
 * C1), characters that change the direction of text or have no width, and bytes that are not UTF-8.
 * keep: control characters that stay. */
void printable_append(const char *text, const char *keep, struct buffer *out);

/* Return the same as a new string, which is never longer than text. */
char *printable(const char *text, const char *keep);

/* Return how many columns of a terminal the first bytes of UTF-8 text take, at most most. *size:
 * the number of these bytes. Some characters take two columns, so the program needs setlocale(). */
size_t printable_fit(const char *text, size_t most, size_t *size);

/* Return the same for the whole text. */
size_t printable_width(const char *text);

/* Print a line whose arguments come from outside. Line ends and tabs stay. */
void printable_print(FILE *out, const char *format, ...) __attribute__((format(printf, 2, 3)));
