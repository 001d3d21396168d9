/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/prose.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/mem.h"

#define MARGIN        2
#define NARROW_COLUMN 6  /* of text below its row */
#define TEXT_COLUMNS  24 /* text in fewer columns is hard to read */

size_t prose_width(void)
{
    struct winsize window;
    if (!isatty(STDOUT_FILENO) || ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) < 0 || !window.ws_col)
        return PROSE_NO_WIDTH;
    return window.ws_col;
}

void prose_wrap(FILE *out, const char *lead, size_t column, size_t width, const char *text)
{
    bool begun = false; /* the line has a word */
    while (*text) {
        size_t word = strcspn(text, " ");
        if (begun && column + 1 + word > width) {
            fprintf(out, "\n%s", lead);
            column = strlen(lead);
            begun = false;
        }
        fprintf(out, "%s%.*s", begun ? " " : "", (int)word, text);
        column += word + begun;
        begun = true;
        text += word + strspn(text + word, " ");
    }
    fputc('\n', out);
}

void prose_row(FILE *out, const char *left, size_t column, size_t width, const char *text)
{
    size_t used = MARGIN + strlen(left);
    bool is_narrow = width < column + TEXT_COLUMNS;
    bool is_below = is_narrow || (used >= column && width != PROSE_NO_WIDTH);
    column = is_narrow ? NARROW_COLUMN : column;
    autofree char *lead = xasprintf("%*s", (int)column, "");
    fprintf(out, "%*s%s", MARGIN, "", left);
    if (is_below)
        fprintf(out, "\n%s", lead);
    else
        fprintf(out, "%*s", used < column ? (int)(column - used) : 1, "");
    prose_wrap(out, lead, is_below || used < column ? column : used + 1, width, text);
}

void prose_roff(FILE *out, const char *text)
{
    bool in_option = false; /* its hyphens stay hyphens when they are copied from the page */
    if (*text == '.' || *text == '\'')
        fputs("\\&", out);
    for (const char *c = text; *c; c++) {
        if (*c == ' ' || (*c == '-' && (c == text || !isalnum((unsigned char)c[-1]))))
            in_option = *c == '-';
        if (*c == '\\')
            fputs("\\e", out);
        else if (*c == '-' && in_option)
            fputs("\\-", out);
        else
            fputc(*c, out);
    }
    fputc('\n', out);
}
