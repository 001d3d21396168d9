/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * JSON written directly into a buffer, for frequent answers: one member after the other, with
 * commas. Text must be UTF-8; names are literals without characters to escape.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"

/* Write the name of the next member, or "" for the next element of an array; its value follows.
 */
void json_text_name(struct buffer *out, const char *name);

void json_text_string(struct buffer *out, const char *name, const char *text);
void json_text_string_or_null(struct buffer *out, const char *name, const char *text); /* "" */
void json_text_number(struct buffer *out, const char *name, int64_t number);
void json_text_bool(struct buffer *out, const char *name, bool value);
/* Append a moment; 0: null. */
void json_text_time(struct buffer *out, const char *name, int64_t at_ms);
/* Append an object that was written before; anything else is an empty one. */
void json_text_object(struct buffer *out, const char *name, const char *text);

/* Append a whole value as jansson writes it, compact, except for reals. A real gets the shortest
 * form that reads back as the same number: 4.759 instead of 4.7590000000000003. */
void json_text_value(struct buffer *out, const json_t *value);

/* Append a value of a document that was parsed with its numbers kept (http/kept_number.h): compact,
 * with each number as the client sent it. */
void json_text_kept(struct buffer *out, const json_t *value);

/* How such a document holds a number: a string of this character and the number. A string of the
 * client that begins with NUL has one more in front. */
#define JSON_TEXT_KEPT '\0'
