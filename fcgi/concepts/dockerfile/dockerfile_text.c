/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <ctype.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

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

enum dockerfile_kind dockerfile_kind_at(const char *text, size_t *length)
{
    *length = strcspn(text, " \t\r\n\v\f");
    size_t kind = 0;
    while (kind < DOCKERFILE_KINDS && (strlen(kind_names[kind]) != *length ||
                                       strncasecmp(text, kind_names[kind], *length) != 0))
        kind++;
    return (enum dockerfile_kind)kind;
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

static unsigned column_of(const struct dockerfile *file, size_t source, const char *begin)
{
    unsigned column = 1;
    for (const char *at = begin; at < file->source + source; at++)
        column += ((unsigned char)*at & 0xc0) != 0x80;
    return column;
}

static int refuse(const struct dockerfile *file, size_t source, struct error **err,
                  const char *format, va_list ap)
{
    const char *begin;
    unsigned line = line_at(file->source, source, &begin);
    unsigned column = column_of(file, source, begin);
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

json_t *dockerfile_place(const struct dockerfile *file, const struct dockerfile_instruction *one,
                         size_t at)
{
    const char *begin;
    size_t source = source_of(one, at);
    unsigned line = line_at(file->source, source, &begin);
    return json_pack("[i, i]", (int)line, (int)column_of(file, source, begin));
}

unsigned dockerfile_line(const struct dockerfile *file, size_t source)
{
    const char *begin;
    return line_at(file->source, source, &begin);
}

/* --- words --- */

bool dockerfile_has_heredocs(enum dockerfile_kind kind)
{
    return kind == DOCKERFILE_RUN || kind == DOCKERFILE_COPY || kind == DOCKERFILE_ADD;
}

/* Return whether a shift, such as "$((1 << n))", is at this place. */
static bool is_in_arithmetic(const char *text, size_t at)
{
    for (size_t left = 256; at >= 2 && left; at--, left--)
        if (text[at - 1] == text[at - 2] && (text[at - 1] == '(' || text[at - 1] == ')'))
            return text[at - 1] == '(';
    return false;
}

/* Return the number of blanks after "<<" or "<<-" before the name of a here-document. */
static size_t blanks_of_heredoc(const struct dockerfile_instruction *one,
                                const struct dockerfile_word *word)
{
    const char *begin = one->text + word->at, *end = begin + word->length;
    size_t mark = strspn(begin, "0123456789");
    bool is_mark = word->length == mark + 2 || (word->length == mark + 3 && begin[mark + 2] == '-');
    size_t count = 0;
    if (!dockerfile_has_heredocs(one->kind) || !is_mark || strncmp(begin + mark, "<<", 2) != 0 ||
        is_in_arithmetic(one->text, word->at))
        return 0;
    while (dockerfile_is_blank(end[count]))
        count++;
    return isalpha((unsigned char)end[count]) || (end[count] && strchr("_\"'", end[count])) ? count
                                                                                            : 0;
}

bool dockerfile_word_next(const struct dockerfile *file, const struct dockerfile_instruction *one,
                          size_t *at, struct dockerfile_word *word)
{
    const char *text = one->text;
    char quote = '\0';
    while (dockerfile_is_blank(text[*at]))
        ++*at;
    word->at = *at;
    for (;; ++*at) {
        char c = text[*at];
        word->length = *at - word->at;
        if (!quote && dockerfile_is_blank(c))
            *at += blanks_of_heredoc(one, word);
        c = text[*at];
        if (!c || (!quote && dockerfile_is_blank(c)))
            break;
        if (c == file->escape && quote != '\'' && text[*at + 1])
            ++*at;
        else if (quote ? c == quote : c == '\'' || c == '"')
            quote = quote ? '\0' : c;
    }
    return word->length > 0;
}
