/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Keep numbers as the client sent them. The JSON library converts numbers with a fraction to
 * doubles: 0.1 would be written as 0.10000000000000001. It refuses integers of more than 64 bits.
 * If the values of a member are stored as text, its numbers are therefore replaced by marked
 * strings before the document is parsed. base/json_text.h describes the mark.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"

/* Copy the text of a document to out, and turn the numbers in one top-level member into
 * marked strings. Text that is not JSON is copied unchanged. out must have room for ten times
 * the size. Return whether the copy differs from the text. */
bool kept_numbers(const char *text, size_t size, const char *member, struct buffer *out);

/* Replace each number that is too large for a double by 1e300 or -1e300, in the same number of
 * bytes. The JSON library would refuse the whole document. The schema can then refuse the member by
 * its name. The text must have a zero byte behind it. */
void numbers_clamp(char *text, size_t size);
