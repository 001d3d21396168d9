/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/str.h"

#include <string.h>

#include "base/mem.h"

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
    if (size <= most)
        return size;
    for (size = most; size && most - size < 3 && ((unsigned char)text[size] & 0xc0) == 0x80; size--)
        ;
    return ((unsigned char)text[size] & 0xc0) == 0x80 ? most : size;
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

void str_clean_path(char *path)
{
    char *out = path;
    for (char *at = path; *at;) {
        size_t length = strcspn(at, "/");
        bool has_more = at[length] == '/';
        if (length == 2 && !strncmp(at, "..", 2)) {
            out -= out > path;
            while (out > path && out[-1] != '/')
                out--;
        } else if (length && !(length == 1 && *at == '.')) {
            memmove(out, at, length);
            out += length;
            if (has_more)
                *out++ = '/';
        }
        at += length + has_more;
    }
    while (out > path && out[-1] == '/')
        out--;
    *out = '\0';
}

char *str_mend(const char *text, size_t most)
{
    size_t left = str_cut(text, most);
    char *copy = xstrndup(text, left);
    for (unsigned char *at = (unsigned char *)copy; left;) {
        size_t used = utf8_sequence(at, left);
        if (!used) {
            *at = '?';
            used = 1;
        }
        at += used;
        left -= used;
    }
    return copy;
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

size_t str_characters(const char *text)
{
    size_t count = 0;
    for (; *text; text++)
        count += ((unsigned char)*text & 0xc0) != 0x80; /* UTF-8 sequences begin here */
    return count;
}

bool str_is_label(const char *text, size_t most)
{
    if (!str_is_utf8(text, strlen(text)))
        return false;
    for (const unsigned char *c = (const unsigned char *)text; *c; c++)
        if (*c < 0x20 || *c == 0x7f)
            return false;
    return str_characters(text) <= most;
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

static bool is_same(const char *word, size_t size, const char *typed)
{
    return strlen(typed) == size && !strncmp(word, typed, size);
}

bool str_is_command_word(const char *word, size_t size, const char *typed)
{
    static const struct {
        const char *word, *typed;
    } same[] = {
        {"rm", "delete"},     {"rm", "remove"},       {"revoke", "rm"},
        {"revoke", "delete"}, {"revoke", "remove"},   {"withdraw", "rm"},
        {"log", "logs"},      {"withdraw", "delete"}, {"withdraw", "remove"},
    };
    for (size_t i = 0; i < ARRAY_SIZE(same); i++) {
        size_t length = strlen(same[i].word);
        if (size >= length && !strncmp(word, same[i].word, length) &&
            (size == length || word[length] == '-') && str_starts_with(typed, same[i].typed) &&
            is_same(word + length, size - length, typed + strlen(same[i].typed)))
            return true;
    }
    return is_same(word, size, typed);
}
