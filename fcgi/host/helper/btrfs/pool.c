/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "helper/btrfs/pool.h"

#include <stddef.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"

char *pool_of(const char *path)
{
    const char *folder = NULL;
    for (const char *next = path; (next = strstr(next, POOL_INSTANCES)); next++)
        folder = next;
    return folder ? xstrndup(path, (size_t)(folder - path)) : NULL;
}

bool pool_is_instance(const char *path)
{
    autofree char *pool = pool_of(path);
    const char *name = strrchr(path, '/');
    return pool && name[1] && strlen(pool) + strlen(POOL_INSTANCES) == (size_t)(name + 1 - path);
}
