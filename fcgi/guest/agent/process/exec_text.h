/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Output as JSON has it: text where it is UTF-8, base64 where it is not. */
#pragma once

#include <jansson.h>
#include <stddef.h>

/* Count the bytes at the end that are the beginning of a character whose rest is missing: 0 to
 * 3. */
size_t exec_text_unfinished(const char *data, size_t size);

/* Return a new reference to the string; *encoding, which is literal, says which it is. */
json_t *exec_text_json(const char *data, size_t size, const char **encoding);
