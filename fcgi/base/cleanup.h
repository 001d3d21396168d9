/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Scoped ownership: variables that free themselves, and an explicit steal. */
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static inline void cleanup_free_(void *pointer)
{
    free(*(void **)pointer);
}

static inline void cleanup_close_(int *fd)
{
    if (*fd >= 0)
        close(*fd);
}

static inline void cleanup_fclose_(FILE **file)
{
    if (*file)
        fclose(*file);
}

#define autofree   __attribute__((cleanup(cleanup_free_)))   /* T *p = NULL */
#define autoclose  __attribute__((cleanup(cleanup_close_)))  /* int fd = -1 */
#define autofclose __attribute__((cleanup(cleanup_fclose_))) /* FILE *f = NULL */

/* Take the pointer out of a self-freeing variable. */
#define steal_pointer(p)                 \
    ({                                   \
        __typeof__(*(p)) stolen_ = *(p); \
        *(p) = NULL;                     \
        stolen_;                         \
    })

static inline int steal_fd(int *fd)
{
    int stolen = *fd;
    *fd = -1;
    return stolen;
}
