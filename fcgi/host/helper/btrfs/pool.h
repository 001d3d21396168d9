/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where things of a pool lie. */
#pragma once

#include <stdbool.h>

/* Of incusd's: a folder for each instance, with the name of its project before that of itself. */
#define POOL_INSTANCES "/containers/"

/* The pool that an instance is in, from a path in it; the caller frees it. NULL: it is in none. */
char *pool_of(const char *path);

/* Whether a path is the folder of an instance itself. */
bool pool_is_instance(const char *path);
