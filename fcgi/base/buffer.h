/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A growing byte buffer with a declared maximum. Appending past the maximum fails and stays
 * failed: builders append without checking each step, and call buffer_overflowed() once.
 */
#pragma once

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

struct buffer {
    char *data; /* size bytes and a NUL; NULL until something was appended */
    size_t size;
    size_t capacity;
    size_t max;
    bool overflowed;
};

/* max: most bytes it may ever hold, the terminating NUL not counted. */
#define BUFFER_INIT(max_bytes)         \
    {                                  \
        NULL, 0, 0, (max_bytes), false \
    }
void buffer_init(struct buffer *buffer, size_t max);

/* Free the memory; the buffer is empty and may be used again. */
void buffer_deinit(struct buffer *buffer);

/* Do the same as buffer_deinit(), overwriting the bytes first. */
void buffer_wipe(struct buffer *buffer);

/* Empty the buffer, keep its memory, and reset buffer_overflowed(). */
void buffer_clear(struct buffer *buffer);

/* Append to the buffer. Returns 0, or -1 when the maximum would be passed (nothing is appended
 * then). */
int buffer_append(struct buffer *buffer, const void *data, size_t size);
int buffer_append_string(struct buffer *buffer, const char *string);
int buffer_append_char(struct buffer *buffer, char c);
int buffer_printf(struct buffer *buffer, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
int buffer_vprintf(struct buffer *buffer, const char *format, va_list ap)
    __attribute__((format(printf, 2, 0)));

/* Make room for size more bytes and return where they go, or NULL past the maximum. The caller
 * fills them and calls buffer_commit() with the number of bytes used. */
char *buffer_reserve(struct buffer *buffer, size_t size);
void buffer_commit(struct buffer *buffer, size_t size);

/* Drop size bytes (at most all) from the front. */
void buffer_consume(struct buffer *buffer, size_t size);

/* Return the contents as a string, "" when empty; owned by the buffer. */
const char *buffer_string(const struct buffer *buffer);

/* Return the contents, which the caller frees; the buffer is empty afterwards. Never NULL. */
char *buffer_steal(struct buffer *buffer);

static inline bool buffer_overflowed(const struct buffer *buffer)
{
    return buffer->overflowed;
}

#define buffer_auto __attribute__((cleanup(buffer_deinit))) struct buffer
