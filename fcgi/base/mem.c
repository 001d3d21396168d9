/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/mem.h"

#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *checked(void *pointer)
{
    if (!pointer) {
        fputs("out of memory\n", stderr);
        abort();
    }
    return pointer;
}

void *xmalloc(size_t size)
{
    return checked(malloc(size ? size : 1));
}

void *xcalloc(size_t count, size_t size)
{
    return checked(calloc(count ? count : 1, size ? size : 1));
}

void *xreallocarray(void *pointer, size_t count, size_t size)
{
    if (size && count > SIZE_MAX / size)
        checked(NULL);
    return checked(realloc(pointer, count && size ? count * size : 1));
}

char *xstrdup(const char *string)
{
    return checked(strdup(string));
}

char *xstrdup_or_null(const char *string)
{
    return string ? xstrdup(string) : NULL;
}

char *xstrndup(const char *string, size_t length)
{
    return checked(strndup(string, length));
}

void *xmemdup(const void *data, size_t size)
{
    void *copy = xmalloc(size);
    if (size)
        memcpy(copy, data, size);
    return copy;
}

char *xvasprintf(const char *format, va_list ap)
{
    char *text = NULL;
    if (vasprintf(&text, format, ap) < 0)
        checked(NULL);
    return text;
}

char *xasprintf(const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    char *text = xvasprintf(format, ap);
    va_end(ap);
    return text;
}

void mem_wipe(void *data, size_t size)
{
    explicit_bzero(data, size);
}

void mem_free_wiped(void *memory)
{
    if (memory)
        mem_wipe(memory, malloc_usable_size(memory));
    free(memory);
}

void *mem_realloc_wiped(void *memory, size_t size)
{
    size_t old = memory ? malloc_usable_size(memory) : 0;
    if (old >= size && old - size < size)
        return memory;
    void *moved = xmalloc(size);
    if (memory)
        memcpy(moved, memory, old < size ? old : size);
    mem_free_wiped(memory);
    return moved;
}

void mem_wipe_free(char *secret)
{
    if (!secret)
        return;
    mem_wipe(secret, strlen(secret));
    free(secret);
}
