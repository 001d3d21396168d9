/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names and values as in a query or a form (application/x-www-form-urlencoded). */
#pragma once

#include "base/buffer.h"

/* Append the text with all but letters, digits and "-._~" percent-encoded. */
void form_encode(struct buffer *out, const char *text);

/* Append "name=value", with a '&' before it unless out is empty or ends in '?', '&' or '#'. */
void form_add(struct buffer *out, const char *name, const char *value);
