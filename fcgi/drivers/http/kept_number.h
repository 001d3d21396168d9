/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Numbers as they were sent. The JSON library makes doubles of them: 0.1 would come out as
 * 0.10000000000000001, and what is larger than 64 bits is refused. Where a member takes values of
 * any type and keeps them as text, its numbers are made strings before the document is parsed, in
 * the form of base/json_text.h.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"

/* Copy the text of a document, with the numbers in its top-level member of that name made strings.
 * What is no JSON is copied as it is. Returns whether there was anything to change; out has room
 * for ten times the size. */
bool kept_numbers(const char *text, size_t size, const char *member, struct buffer *out);
