/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Compare strings, read strict numbers, find the nearest name. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ALPHANUMERIC "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"

bool str_equal(const char *a, const char *b); /* NULL equals NULL only */
bool str_starts_with(const char *text, const char *prefix);
bool str_ends_with(const char *text, const char *suffix);

/* Read the whole text as a decimal number without sign, blanks or leading zeros ("0" itself is
 * fine). Returns 0, or -1 for any other text and for numbers outside [min, max]. */
int str_parse_u64(const char *text, uint64_t min, uint64_t max, uint64_t *value);

/* Return the entry of names (count entries) that a person most likely meant, or NULL when none is
 * near. */
const char *str_nearest(const char *text, const char *const names[], size_t count);

/* Return the size of the longest beginning of text that has at most so many bytes and no half of a
 * character. */
size_t str_cut(const char *text, size_t most);

/* Remove "." parts and doubled slashes of a path, and slashes at its ends, in place. ".." removes
 * the part before it, if there is one. */
void str_clean_path(char *path);

/* Return a copy of this beginning of text. Each byte that belongs to no character becomes "?", so
 * the copy is well-formed UTF-8. The caller frees it. */
char *str_mend(const char *text, size_t most);

/* Return whether text is well-formed UTF-8 (RFC 3629). */
bool str_is_utf8(const char *text, size_t length);

/* Return the number of characters of well-formed UTF-8. */
size_t str_characters(const char *text);

/* Return whether text is well-formed UTF-8 of at most `most` characters, without control characters
 * of ASCII. */
bool str_is_label(const char *text, size_t most);

/* Return whether text is 1 to most letters, digits, hyphens and underscores of ASCII, beginning
 * with a letter or a digit. NULL is no name. */
bool str_is_name(const char *text, size_t most);

/* Return whether value is one of choices, which are separated by bars: "a|b|c". */
bool str_is_choice(const char *choices, const char *value);

/* Return whether a person typed this word of a command. `rm`, `delete` and `remove` have the same
 * meaning, and also stand for `revoke` and `withdraw`; `logs` stands for `log`. size: the bytes of
 * the word. */
bool str_is_command_word(const char *word, size_t size, const char *typed);
