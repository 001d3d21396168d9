/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/str.h"

#include <string.h>

bool str_equal(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

bool str_starts_with(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

bool str_ends_with(const char *text, const char *suffix)
{
    size_t length = strlen(text), tail = strlen(suffix);
    return length >= tail && strcmp(text + length - tail, suffix) == 0;
}

int str_parse_u64(const char *text, uint64_t min, uint64_t max, uint64_t *value)
{
    uint64_t n = 0;
    if (!*text || (text[0] == '0' && text[1]))
        return -1;
    for (; *text; text++) {
        if (*text < '0' || *text > '9')
            return -1;
        unsigned digit = (unsigned)(*text - '0');
        if (n > (UINT64_MAX - digit) / 10)
            return -1;
        n = n * 10 + digit;
    }
    if (n < min || n > max)
        return -1;
    *value = n;
    return 0;
}

#define NEAREST_MAX_LENGTH 64

/* Levenshtein distance; both texts are at most NEAREST_MAX_LENGTH long. */
static size_t edit_distance(const char *a, size_t a_length, const char *b, size_t b_length)
{
    size_t row[NEAREST_MAX_LENGTH + 1];
    for (size_t j = 0; j <= b_length; j++)
        row[j] = j;
    for (size_t i = 1; i <= a_length; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= b_length; j++) {
            size_t substitution = diagonal + (a[i - 1] != b[j - 1]);
            diagonal = row[j];
            size_t best = row[j] < row[j - 1] ? row[j] + 1 : row[j - 1] + 1;
            row[j] = substitution < best ? substitution : best;
        }
    }
    return row[b_length];
}

const char *str_nearest(const char *text, const char *const names[], size_t count)
{
    size_t length = strlen(text), best = SIZE_MAX;
    const char *nearest = NULL;
    if (length > NEAREST_MAX_LENGTH)
        return NULL;
    for (size_t i = 0; i < count; i++) {
        size_t name_length = strlen(names[i]);
        if (name_length > NEAREST_MAX_LENGTH)
            continue;
        size_t distance = edit_distance(text, length, names[i], name_length);
        if (distance < best && distance <= 1 + name_length / 3) {
            best = distance;
            nearest = names[i];
        }
    }
    return nearest;
}

size_t str_cut(const char *text, size_t most)
{
    size_t size = strnlen(text, most + 1);
    if (size > most)
        for (size = most; size && ((unsigned char)text[size] & 0xc0) == 0x80; size--)
            ;
    return size;
}

/* Length of the well-formed sequence at text, or 0. Table 3-7 of the Unicode standard. */
static size_t utf8_sequence(const unsigned char *text, size_t left)
{
    unsigned char c = text[0];
    if (c < 0x80)
        return 1;
    size_t length = c >= 0xc2 && c <= 0xdf   ? 2
                    : (c & 0xf0) == 0xe0     ? 3
                    : c >= 0xf0 && c <= 0xf4 ? 4
                                             : 0;
    if (!length || length > left)
        return 0;
    for (size_t i = 1; i < length; i++)
        if ((text[i] & 0xc0) != 0x80)
            return 0;
    bool overlong = (c == 0xe0 && text[1] < 0xa0) || (c == 0xf0 && text[1] < 0x90);
    bool surrogate = c == 0xed && text[1] > 0x9f;
    bool beyond = c == 0xf4 && text[1] > 0x8f;
    return overlong || surrogate || beyond ? 0 : length;
}

bool str_is_utf8(const char *text, size_t length)
{
    const unsigned char *at = (const unsigned char *)text;
    while (length) {
        size_t used = utf8_sequence(at, length);
        if (!used)
            return false;
        at += used;
        length -= used;
    }
    return true;
}

bool str_is_name(const char *text, size_t most)
{
    size_t length = text ? strlen(text) : 0;
    return length && length <= most && *text != '-' && *text != '_' &&
           strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") ==
               length;
}

bool str_is_choice(const char *choices, const char *value)
{
    size_t length = strlen(value);
    while (*choices) {
        size_t size = strcspn(choices, "|");
        if (size == length && !memcmp(choices, value, size))
            return true;
        choices += size + (choices[size] == '|');
    }
    return false;
}

bool str_is_command_word(const char *word, size_t size, const char *typed)
{
    bool is_long = str_starts_with(typed, "delete") || str_starts_with(typed, "remove");
    if (is_long && size >= 2 && !strncmp(word, "rm", 2)) {
        word += 2;
        size -= 2;
        typed += strlen("remove");
    }
    return strlen(typed) == size && !strncmp(word, typed, size);
}
