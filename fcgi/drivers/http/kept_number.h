/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Numbers as the client sent them. The JSON library turns them into doubles: 0.1 would come back as
 * 0.10000000000000001, and it refuses integers of more than 64 bits. A member whose values are
 * stored as text therefore has its numbers turned into marked strings before the document is
 * parsed. The mark is described in base/json_text.h.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"

/* Copy the text of a document to out, and turn the numbers in one top-level member into
 * marked strings. Text that is not JSON is copied unchanged. out must have room for ten times
 * the size. Return whether the copy differs from the text. */
bool kept_numbers(const char *text, size_t size, const char *member, struct buffer *out);

/* Replace each number that no double can hold by 1e300 or -1e300, in the same number of bytes. The
 * JSON library refuses such a document as a whole; so the schema can refuse the member, by name.
 * The text must have a zero byte behind it. */
void numbers_clamp(char *text, size_t size);
