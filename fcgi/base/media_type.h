/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Read the values of the headers Content-Type and Accept. */
#pragma once

#include <stdbool.h>

/* Return whether a Content-Type (NULL: none) is this type, with any parameters. */
bool media_type_is(const char *value, const char *type);

/* Return whether a Content-Type (NULL: none) names UTF-8 or no charset. */
bool media_type_is_utf8(const char *value);

/* Return the quality that an Accept header (NULL: none) gives to a type by name, in thousandths:
 * 250 for "q=0.25", 1000 without a quality. Every program sends wildcards, so they do not count. */
int media_type_quality(const char *accept, const char *type);
