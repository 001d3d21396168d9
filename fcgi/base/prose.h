/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Print the texts of tables for people: lists of commands, paragraphs, lines of manual pages. The
 * texts are ASCII. */
#pragma once

#include <stdint.h>
#include <stdio.h>

#define PROSE_NO_WIDTH  SIZE_MAX /* lines of any length */
#define PROSE_PARAGRAPH 78       /* the longest line of a paragraph */

/* Return the columns of the terminal on standard output; PROSE_NO_WIDTH if it is no terminal. */
size_t prose_width(void);

/* Print text and a line break, from a column of a line on. Break it at blanks before width; further
 * lines begin with lead. A word that is longer than a line stays whole. */
void prose_wrap(FILE *out, const char *lead, size_t column, size_t width, const char *text);

/* Print a row of a list: left after two blanks, and text at column, broken before width. If text
 * has no room there, it begins in a line of its own. */
void prose_row(FILE *out, const char *left, size_t column, size_t width, const char *text);

/* Print text as a line of a manual page: nothing in it is a request or an escape. */
void prose_roff(FILE *out, const char *text);
