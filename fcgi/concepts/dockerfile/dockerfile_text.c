/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdarg.h>
#include <stdlib.h>

#include "base/mem.h"
#include "dockerfile/dockerfile_text.h"

static const char *const kind_names[] = {
#define X(name) #name,
#include "dockerfile/instructions.def"
#undef X
};

const char *dockerfile_kind_name(enum dockerfile_kind kind)
{
    return kind_names[kind];
}

bool dockerfile_is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f';
}

/* --- places --- */

static unsigned line_at(const char *text, size_t end, const char **begin)
{
    unsigned line = 1;
    *begin = text;
    for (const char *at = text; at < text + end; at++) {
        if (*at == '\n') {
            line++;
            *begin = at + 1;
        }
    }
    return line;
}

static int refuse(const struct dockerfile *file, size_t source, struct error **err,
                  const char *format, va_list ap)
{
    const char *begin;
    unsigned line = line_at(file->source, source, &begin), column = 1;
    for (const char *at = begin; at < file->source + source; at++)
        column += ((unsigned char)*at & 0xc0) != 0x80;
    autofree char *message = xvasprintf(format, ap);
    return error_set_field(err, ERR_INVALID_REQUEST, DOCKERFILE_FIELD, "Line %u, column %u: %s",
                           line, column, message);
}

int dockerfile_refuse_source(const struct dockerfile *file, size_t source, struct error **err,
                             const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    refuse(file, source, err, format, ap);
    va_end(ap);
    return -1;
}

static size_t source_of(const struct dockerfile_instruction *one, size_t at)
{
    size_t i = one->piece_count;
    while (i > 1 && one->pieces[i - 1].at > at)
        i--;
    return one->pieces[i - 1].source + (at - one->pieces[i - 1].at);
}

int dockerfile_refuse(const struct dockerfile *file, const struct dockerfile_instruction *one,
                      size_t at, struct error **err, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    refuse(file, source_of(one, at), err, format, ap);
    va_end(ap);
    return -1;
}

unsigned dockerfile_line(const struct dockerfile *file, size_t source)
{
    const char *begin;
    return line_at(file->source, source, &begin);
}

/* --- words --- */

bool dockerfile_word_next(const struct dockerfile *file, const struct dockerfile_instruction *one,
                          size_t *at, struct dockerfile_word *word)
{
    const char *text = one->text;
    char quote = '\0';
    while (dockerfile_is_blank(text[*at]))
        ++*at;
    word->at = *at;
    for (; text[*at] && (quote || !dockerfile_is_blank(text[*at])); ++*at) {
        char c = text[*at];
        if (c == file->escape && quote != '\'' && text[*at + 1])
            ++*at;
        else if (quote ? c == quote : c == '\'' || c == '"')
            quote = quote ? '\0' : c;
    }
    word->length = *at - word->at;
    return word->length > 0;
}
