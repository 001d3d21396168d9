/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "recipe/recipe_expand.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#include "base/buffer.h"
#include "base/mem.h"

#define DEPTH_MAX 8 /* of words in words */

static bool begins_name(char c)
{
    return isalpha((unsigned char)c) || c == '_';
}

static size_t name_length(const char *text)
{
    size_t length = 0;
    while (isalnum((unsigned char)text[length]) || text[length] == '_')
        length++;
    return begins_name(*text) ? length : 0;
}

static const char *value_of(const json_t *envs, const char *name, size_t length)
{
    autofree char *copy = xstrndup(name, length);
    const char *value = json_string_value(json_object_get(envs, copy));
    return value ? value : "";
}

/* Return the length of a word up to the brace that ends it; braces inside do not count. 0 with
 * *ends false: the word has no end. */
static size_t word_length(const char *text, bool *ends)
{
    unsigned open = 0;
    size_t at = 0;
    for (; text[at] && (open || text[at] != '}'); at++) {
        if (text[at] == '$' && text[at + 1] == '{')
            open++;
        else if (text[at] == '}')
            open--;
    }
    *ends = text[at] == '}';
    return at;
}

static void expand(const char *text, size_t size, const json_t *envs, unsigned depth,
                   struct buffer *out);

/* Expand at "${"; return how many bytes were used, or 0 when this is not a variable. */
static size_t expand_braced(const char *text, const json_t *envs, unsigned depth,
                            struct buffer *out)
{
    const char *name = text + 2;
    size_t length = name_length(name);
    const char *value = length ? value_of(envs, name, length) : "";
    const char *rest = name + length;
    bool ends;
    if (!length)
        return 0;
    if (*rest == '}') {
        buffer_append_string(out, value);
        return (size_t)(rest + 1 - text);
    }
    if (rest[0] != ':' || (rest[1] != '-' && rest[1] != '+'))
        return 0;
    size_t word = word_length(rest + 2, &ends);
    if (!ends)
        return 0;
    if (rest[1] == '-' && *value)
        buffer_append_string(out, value);
    else if (rest[1] == '-' || *value)
        expand(rest + 2, word, envs, depth + 1, out);
    return (size_t)(rest + 2 + word + 1 - text);
}

/* Expand at a dollar sign; returns the same. */
static size_t expand_one(const char *text, const json_t *envs, unsigned depth, struct buffer *out)
{
    if (text[1] == '{')
        return depth < DEPTH_MAX ? expand_braced(text, envs, depth, out) : 0;
    size_t length = name_length(text + 1);
    if (length)
        buffer_append_string(out, value_of(envs, text + 1, length));
    return length ? length + 1 : 0;
}

static void expand(const char *text, size_t size, const json_t *envs, unsigned depth,
                   struct buffer *out)
{
    const char *end = text + size;
    while (text < end) {
        size_t taken = 0;
        if (text[0] == '\\' && text + 1 < end && text[1] == '$')
            text++;
        else if (*text == '$')
            taken = expand_one(text, envs, depth, out);
        if (!taken)
            buffer_append_char(out, *text);
        text += taken ? taken : 1;
    }
}

char *recipe_expand(const char *text, const json_t *envs)
{
    struct buffer out = BUFFER_INIT(RECIPE_VALUE_MAX);
    expand(text, strlen(text), envs, 0, &out);
    return buffer_steal(&out);
}
