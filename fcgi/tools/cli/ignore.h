/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Patterns of a .dockerignore file: paths of the context that a build does not send. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

#define IGNORE_PATTERNS_MAX 1000
#define IGNORE_FILE_MAX     (256 * 1024)

struct ignore {
    char *text;
    struct ignore_pattern {
        char *path;   /* without slashes at its ends, into text */
        bool excepts; /* "!": paths that are sent all the same */
    } * patterns;
    size_t count;
    bool has_exceptions;
};

/* Read the patterns of a text, one a line. The caller calls ignore_deinit(). */
int ignore_read(struct ignore *ignore, const char *text, struct error **err);
void ignore_deinit(struct ignore *ignore);

/* Return whether the last pattern that fits the path, or one of the folders above it, ignores it.
 * path: relative, without "." and "..". */
bool ignore_has(const struct ignore *ignore, const char *path);
