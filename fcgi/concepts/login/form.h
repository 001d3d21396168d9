/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names and values in a query or a form (application/x-www-form-urlencoded). */
#pragma once

#include "base/buffer.h"

/* Append the text; percent-encode all but letters, digits and "-._~". */
void form_encode(struct buffer *out, const char *text);

/* Append "name=value", with a '&' before it unless out is empty or ends in '?', '&' or '#'. */
void form_add(struct buffer *out, const char *name, const char *value);
