/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * JSON written straight into a buffer, for what is shown often: members one after the other, with
 * the commas between them. Text must be UTF-8; names are literals without characters to escape.
 */
#pragma once

#include <stdint.h>

#include "base/buffer.h"

/* The name of the next member, or "" for the next element of an array; what follows is its value.
 */
void json_text_name(struct buffer *out, const char *name);

void json_text_string(struct buffer *out, const char *name, const char *text);
void json_text_string_or_null(struct buffer *out, const char *name, const char *text); /* "" */
void json_text_number(struct buffer *out, const char *name, int64_t number);
void json_text_bool(struct buffer *out, const char *name, bool value);
/* A moment; 0: null. */
void json_text_time(struct buffer *out, const char *name, int64_t at_ms);
/* An object that was written before; anything else is an empty one. */
void json_text_object(struct buffer *out, const char *name, const char *text);
