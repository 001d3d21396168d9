/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Find the places of a storage pool. */
#pragma once

#include <stdbool.h>

/* incusd's folder of instances. Each has a folder: PROJECT_NAME. */
#define POOL_INSTANCES "/containers/"

/* Return the pool that a path is in; the caller frees it. NULL: the path is in no pool. */
char *pool_of(const char *path);

/* Return whether a path is the folder of an instance itself. */
bool pool_is_instance(const char *path);
