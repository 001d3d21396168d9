/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Make copies of a template's source ahead of time, in sandlot-spares of the pool.
 *
 * Before a snapshot, the kernel writes out all dirty data of the file system, which delays a start
 * by tens of milliseconds. A spare copy only has to be renamed. A spare that is older than the last
 * change of its source is not used. Spares are deleted with their source; when there are many, the
 * oldest is deleted. Failures in the background are not reported: without a spare, the copy is made
 * on demand.
 */
#pragma once

#include <stdbool.h>

/* Return whether a path is the folder of a template's source. */
bool spare_is_for(const char *instance);

/* Handle `subvolume snapshot` of a source. Returns EXIT_SUCCESS, or -1, with nothing done, when
 * there is no spare. */
int spare_take(const char *source, const char *to);

/* Start a background process that makes the missing spares a moment later. is_new: incusd still
 * writes into the source, so the process checks several times. */
void spare_make_later(const char *source, bool is_new);

/* Delete the spares of an instance that is being deleted. */
void spare_remove(const char *instance);
