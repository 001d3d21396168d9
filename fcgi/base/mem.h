/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Allocate memory. A process that runs out of memory aborts, and its supervisor starts it again.
 * Every size that depends on outside input is capped before. The caller owns the result and
 * releases it with free().
 */
#pragma once

#include <stdarg.h>
#include <stddef.h>

#include "base/cleanup.h"

#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))

/* The structure that a member at this address is embedded in. */
#define container_of(pointer, type, member) ((type *)((char *)(pointer)-offsetof(type, member)))

void *xmalloc(size_t size);
void *xcalloc(size_t count, size_t size);
/* Allocate room for count elements; aborts when count * size overflows. */
void *xreallocarray(void *pointer, size_t count, size_t size);
char *xstrdup(const char *string);
/* Return a copy; NULL for NULL. */
char *xstrdup_or_null(const char *string);
char *xstrndup(const char *string, size_t length);
void *xmemdup(const void *data, size_t size);
char *xasprintf(const char *format, ...) __attribute__((format(printf, 1, 2)));
char *xvasprintf(const char *format, va_list ap) __attribute__((format(printf, 1, 0)));

/* Overwrite memory that held a secret; never optimised away. */
void mem_wipe(void *data, size_t size);

/* For libraries that copy secrets: free() and realloc() that overwrite all memory they release. */
void mem_free_wiped(void *memory);
void *mem_realloc_wiped(void *memory, size_t size);

/* Wipe and free a NUL-terminated secret; NULL is allowed. */
void mem_wipe_free(char *secret);

static inline void cleanup_wipe_free_(char **secret)
{
    mem_wipe_free(*secret);
}
#define autowipe __attribute__((cleanup(cleanup_wipe_free_))) /* char *secret = NULL */
