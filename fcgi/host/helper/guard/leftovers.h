/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Delete the remains of killed processes and deleted sandboxes from a pool. */
#pragma once

#include "helper/guard/pool.h"

/* Return the path of the source of a subvolume `name`. The subvolume is a leftover when this path
 * does not exist. */
typedef char *leftover_source(const char *top, const char *name);

/* Return the source of an image in sandlot-images (INSTANCE.SNAPSHOT: a snapshot), or of a copy in
 * sandlot-parents or sandlot-spares (INSTANCE.NUMBER: an instance). The caller frees the path. */
char *leftovers_snapshot_of(const char *top, const char *name);
char *leftovers_instance_of(const char *top, const char *name);

/* Return the names in a folder that have no source, up to a NULL. The caller frees each name and
 * the list. */
char **leftovers_in(const char *top, const char *folder, leftover_source *source);

/* Delete the leftovers, and destroy empty groups of deleted subvolumes. Write the usage of all
 * groups of deleted subvolumes to a file for `sandlotctl doctor`. */
void leftovers_remove(struct guard_pool *pool);
