/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "http/kept_number.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MARK "\\u0000"

struct scan {
    const char *at, *end;
    const char *member;
    unsigned depth;
    bool inside; /* the member's value */
    bool changed;
    struct buffer *out;
};

/* Return the end of the string that begins at the quote. */
static const char *string_end(const char *at, const char *end)
{
    for (at++; at < end && *at != '"'; at++)
        if (*at == '\\')
            at++;
    return at < end ? at + 1 : end;
}

static const char *skip_digits(const char *at, const char *end)
{
    while (at < end && *at >= '0' && *at <= '9')
        at++;
    return at;
}

/* Return the end of the number, or begin if this is not a number of JSON. */
static const char *number_end(const char *begin, const char *end)
{
    const char *at = begin + (*begin == '-');
    const char *digits = at;
    at = skip_digits(at, end);
    if (at == digits || (*digits == '0' && at - digits > 1))
        return begin;
    if (at < end && *at == '.') {
        digits = at + 1;
        if ((at = skip_digits(digits, end)) == digits)
            return begin;
    }
    if (at < end && (*at == 'e' || *at == 'E')) {
        at++;
        at += at < end && (*at == '+' || *at == '-');
        digits = at;
        if ((at = skip_digits(digits, end)) == digits)
            return begin;
    }
    return at;
}

/* Return the end of the digits of a malformed number: numbers_clamp() and take_number() skip them,
 * so that they do not read them again. */
static const char *behind_digits(const char *begin, const char *end)
{
    return skip_digits(begin + 1, end);
}

static bool is_name(const struct scan *scan, const char *end)
{
    size_t size = strlen(scan->member);
    const char *after = end;
    if ((size_t)(end - scan->at) != size + 2 || memcmp(scan->at + 1, scan->member, size) != 0)
        return false;
    while (after < scan->end && strchr(" \t\r\n", *after))
        after++;
    return after < scan->end && *after == ':';
}

static void take_string(struct scan *scan)
{
    const char *end = string_end(scan->at, scan->end);
    size_t size = (size_t)(end - scan->at);
    bool marked =
        scan->inside && size > sizeof MARK && !memcmp(scan->at + 1, MARK, sizeof MARK - 1);
    if (scan->depth == 1)
        scan->inside = is_name(scan, end);
    if (marked)
        buffer_append_string(scan->out, "\"" MARK);
    buffer_append(scan->out, scan->at + marked, size - marked);
    scan->changed |= marked;
    scan->at = end;
}

static void take_number(struct scan *scan)
{
    const char *end = number_end(scan->at, scan->end);
    if (end == scan->at) {
        end = behind_digits(scan->at, scan->end);
        buffer_append(scan->out, scan->at, (size_t)(end - scan->at));
        scan->at = end;
        return;
    }
    buffer_append_string(scan->out, "\"" MARK);
    buffer_append(scan->out, scan->at, (size_t)(end - scan->at));
    buffer_append_char(scan->out, '"');
    scan->changed = true;
    scan->at = end;
}

static void take_character(struct scan *scan)
{
    char c = *scan->at++;
    if (c == '{' || c == '[')
        scan->depth++;
    else if ((c == '}' || c == ']') && scan->depth)
        scan->depth--;
    buffer_append_char(scan->out, c);
}

bool kept_numbers(const char *text, size_t size, const char *member, struct buffer *out)
{
    struct scan scan = {.at = text, .end = text + size, .member = member, .out = out};
    while (scan.at < scan.end) {
        if (*scan.at == '"')
            take_string(&scan);
        else if (scan.inside && scan.depth > 1 &&
                 (*scan.at == '-' || (*scan.at >= '0' && *scan.at <= '9')))
            take_number(&scan);
        else
            take_character(&scan);
    }
    return scan.changed && !buffer_overflowed(out);
}

#define CLAMPED_LEAST 5 /* bytes: a shorter number fits */

static void clamp(char *number, size_t size)
{
    char *digits = number + (*number == '-');
    size_t count = size - (size_t)(digits - number);
    if (count < CLAMPED_LEAST || !isinf(strtod(number, NULL)))
        return;
    memset(digits, '0', count);
    digits[0] = '1';
    digits[1] = 'e';
    digits[count - 3] = '3';
}

void numbers_clamp(char *text, size_t size)
{
    const char *end = text + size;
    for (char *at = text; at < end;) {
        const char *next = at + 1;
        if (*at == '"') {
            next = string_end(at, end);
        } else if (*at == '-' || (*at >= '0' && *at <= '9')) {
            next = number_end(at, end);
            if (next > at)
                clamp(at, (size_t)(next - at));
            else
                next = behind_digits(at, end);
        }
        at += next - at;
    }
}
