/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What killed processes and deleted sandboxes leave in a pool. */
#pragma once

#include "helper/guard/pool.h"

/* A leftover is a subvolume in a folder of the pool; name is what it is called there. */
typedef char *leftover_source(const char *top, const char *name);

/* The snapshot that an image in sandlot-images is of, INSTANCE.SNAPSHOT, or the instance that a
 * copy in sandlot-parents or sandlot-spares is of, INSTANCE.NUMBER. The caller frees it. */
char *leftovers_snapshot_of(const char *top, const char *name);
char *leftovers_instance_of(const char *top, const char *name);

/* Names in a folder whose sources are gone, up to a NULL; the caller frees each, and the list. */
char **leftovers_in(const char *top, const char *folder, leftover_source *source);

/* Delete them, destroy empty groups of subvolumes that are gone, and write down what others of them
 * are charged with, which `sandlotctl doctor` reads. */
void leftovers_remove(struct guard_pool *pool);
