/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Messages of the Connect protocol, a byte of flags and four of length before each. */
#pragma once

#include <jansson.h>

#include "base/buffer.h"

/* Append a message, which is taken over. */
void envelope_put(struct buffer *buffer, json_t *message);

/* Append the messages of process.Process/StreamInput in their binary form: the process, and then
 * bytes for its terminal or its standard input. */
void envelope_put_process(struct buffer *buffer, int pid);
void envelope_put_input(struct buffer *buffer, bool to_pty, const void *data, size_t size);

/* Take the bytes of an output message off the buffer, without reading its JSON: *bytes, which the
 * caller frees, and *is_error. Returns false for every other message, also an incomplete one. */
bool envelope_take_output(struct buffer *buffer, char **bytes, size_t *size, bool *is_error);

/* Take the first message off the buffer. Return 1 with *message (a new reference) and *is_last, 0
 * if it is incomplete, and -1 if it is not a message. */
int envelope_take(struct buffer *buffer, json_t **message, bool *is_last);

/* Return the base64 of bytes as a JSON string, and read it back: the caller's memory, NULL for
 * none. */
json_t *envelope_bytes(const void *data, size_t size);
char *envelope_decode(const char *text, size_t *size);
