/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/buffer.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

void buffer_init(struct buffer *buffer, size_t max)
{
    *buffer = (struct buffer)BUFFER_INIT(max);
}

void buffer_deinit(struct buffer *buffer)
{
    free(buffer->data);
    buffer_init(buffer, buffer->max);
}

void buffer_wipe(struct buffer *buffer)
{
    if (buffer->data)
        mem_wipe(buffer->data, buffer->capacity);
    buffer_deinit(buffer);
}

void buffer_clear(struct buffer *buffer)
{
    buffer->size = 0;
    buffer->overflowed = false;
    if (buffer->data)
        buffer->data[0] = '\0';
}

char *buffer_reserve(struct buffer *buffer, size_t size)
{
    if (buffer->overflowed || size > buffer->max - buffer->size) {
        buffer->overflowed = true;
        return NULL;
    }
    size_t needed = buffer->size + size + 1;
    if (needed > buffer->capacity) {
        size_t capacity = buffer->capacity ? buffer->capacity : 64;
        while (capacity < needed)
            capacity += capacity / 2;
        if (capacity > buffer->max + 1)
            capacity = buffer->max + 1;
        /* Not realloc(): it may leave a copy of a secret behind in freed memory. */
        char *data = xmalloc(capacity);
        if (buffer->data) {
            memcpy(data, buffer->data, buffer->size + 1);
            mem_wipe(buffer->data, buffer->capacity);
            free(buffer->data);
        }
        buffer->data = data;
        buffer->capacity = capacity;
    }
    return buffer->data + buffer->size;
}

void buffer_commit(struct buffer *buffer, size_t size)
{
    assert(buffer->size + size < buffer->capacity);
    buffer->size += size;
    buffer->data[buffer->size] = '\0';
}

int buffer_append(struct buffer *buffer, const void *data, size_t size)
{
    char *room = buffer_reserve(buffer, size);
    if (!room)
        return -1;
    if (size)
        memcpy(room, data, size);
    buffer_commit(buffer, size);
    return 0;
}

int buffer_append_string(struct buffer *buffer, const char *string)
{
    return buffer_append(buffer, string, strlen(string));
}

int buffer_append_char(struct buffer *buffer, char c)
{
    return buffer_append(buffer, &c, 1);
}

int buffer_vprintf(struct buffer *buffer, const char *format, va_list ap)
{
    va_list measure;
    va_copy(measure, ap);
    int size = vsnprintf(NULL, 0, format, measure);
    va_end(measure);
    assert(size >= 0);
    char *room = buffer_reserve(buffer, (size_t)size);
    if (!room)
        return -1;
    vsnprintf(room, (size_t)size + 1, format, ap);
    buffer_commit(buffer, (size_t)size);
    return 0;
}

int buffer_printf(struct buffer *buffer, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    int result = buffer_vprintf(buffer, format, ap);
    va_end(ap);
    return result;
}

void buffer_consume(struct buffer *buffer, size_t size)
{
    if (size > buffer->size)
        size = buffer->size;
    if (!size)
        return;
    memmove(buffer->data, buffer->data + size, buffer->size - size + 1);
    buffer->size -= size;
}

const char *buffer_string(const struct buffer *buffer)
{
    return buffer->data ? buffer->data : "";
}

char *buffer_steal(struct buffer *buffer)
{
    char *data = buffer->data ? buffer->data : xstrdup("");
    buffer->data = NULL;
    buffer_deinit(buffer);
    return data;
}
