/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Patterns in variables. A pattern is a row of tokens. Its state is a set of bits: bit i means that
 * the first i tokens fit the text so far. So one pass over a text finds all its beginnings that
 * fit.
 */
#include <stdint.h>
#include <string.h>

#include "base/buffer.h"
#include "base/mem.h"
#include "dockerfile/dockerfile_text.h"

#define TOKENS_MAX 60
#define VALUE_MAX  4096
#define NO_MATCH   SIZE_MAX

#define ANY        256
#define STAR       257

struct tokens {
    int at[TOKENS_MAX];
    size_t count;
};

static bool read_tokens(const char *pattern, struct tokens *tokens)
{
    for (tokens->count = 0; *pattern; pattern++) {
        if (tokens->count == TOKENS_MAX)
            return false;
        bool is_escaped = *pattern == '\\' && pattern[1];
        pattern += is_escaped;
        tokens->at[tokens->count++] = is_escaped        ? (unsigned char)*pattern
                                      : *pattern == '*' ? STAR
                                      : *pattern == '?' ? ANY
                                                        : (unsigned char)*pattern;
    }
    return true;
}

/* A star also fits nothing. */
static uint64_t skip_stars(const struct tokens *tokens, uint64_t state)
{
    for (size_t i = 0; i < tokens->count; i++)
        if (tokens->at[i] == STAR && (state >> i & 1))
            state |= (uint64_t)1 << (i + 1);
    return state;
}

static uint64_t step(const struct tokens *tokens, uint64_t state, unsigned char c)
{
    uint64_t next = 0;
    for (size_t i = 0; i < tokens->count; i++) {
        if (!(state >> i & 1))
            continue;
        if (tokens->at[i] == STAR)
            next |= (uint64_t)1 << i;
        else if (tokens->at[i] == ANY || tokens->at[i] == c)
            next |= (uint64_t)1 << (i + 1);
    }
    return skip_stars(tokens, next);
}

/* Return the length of the beginning that fits; NO_MATCH: none. */
static size_t fit(const struct tokens *tokens, const char *text, size_t length, bool longest,
                  size_t *expanded)
{
    uint64_t state = skip_stars(tokens, 1);
    size_t found = NO_MATCH;
    for (size_t i = 0; state; i++) {
        if (state >> tokens->count & 1) {
            found = i;
            if (!longest)
                break;
        }
        if (i == length || *expanded > DOCKERFILE_EXPANDED_MAX)
            break;
        state = step(tokens, state, (unsigned char)text[i]);
        *expanded += 1 + tokens->count / 8;
    }
    return found;
}

static void reverse(char *text)
{
    for (size_t a = 0, b = strlen(text); a + 1 < b; a++) {
        char c = text[a];
        text[a] = text[--b];
        text[b] = c;
    }
}

static char *without_end(const struct dockerfile_pattern_use *use, struct tokens *tokens,
                         size_t *expanded)
{
    char *value = xstrdup(use->value);
    for (size_t a = 0, b = tokens->count; a + 1 < b; a++) {
        int token = tokens->at[a];
        tokens->at[a] = tokens->at[--b];
        tokens->at[b] = token;
    }
    reverse(value);
    size_t length = fit(tokens, value, strlen(value), use->is_whole, expanded);
    reverse(value);
    if (length != NO_MATCH)
        value[strlen(value) - length] = '\0';
    return value;
}

static char *without_beginning(const struct dockerfile_pattern_use *use,
                               const struct tokens *tokens, size_t *expanded)
{
    size_t length = fit(tokens, use->value, strlen(use->value), use->is_whole, expanded);
    return xstrdup(use->value + (length == NO_MATCH ? 0 : length));
}

static char *replaced(const struct dockerfile_pattern_use *use, const struct tokens *tokens,
                      size_t *expanded)
{
    buffer_auto out = BUFFER_INIT(DOCKERFILE_VALUE_MAX);
    const char *at = use->value;
    bool is_over = false;
    while (*at) {
        size_t length = is_over ? NO_MATCH : fit(tokens, at, strlen(at), true, expanded);
        if (length != NO_MATCH && length) {
            buffer_append_string(&out, use->text);
            at += length;
            is_over = !use->is_whole;
        } else {
            buffer_append_char(&out, *at++);
        }
    }
    return buffer_overflowed(&out) ? NULL : buffer_steal(&out);
}

char *dockerfile_pattern_apply(const struct dockerfile_pattern_use *use, size_t *expanded)
{
    struct tokens tokens;
    if (!read_tokens(use->pattern, &tokens) || strlen(use->value) > VALUE_MAX)
        return NULL;
    return use->sign == '#'   ? without_beginning(use, &tokens, expanded)
           : use->sign == '%' ? without_end(use, &tokens, expanded)
                              : replaced(use, &tokens, expanded);
}
