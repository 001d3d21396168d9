/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Let a move send only the changes of a sandbox to its template, when both hosts have unpacked the
 * same image. In the terms of btrfs, this is an incremental stream with a parent that both hosts
 * have.
 *
 * The parent is in sandlot-parents of the pool. It is a sealed copy of the template's source,
 * without the files that incusd writes next to it. The command `btrfs receive` finds a parent by
 * the id of the subvolume from which it was received. This id is set to the digest of the parent's
 * contents. To btrfs, two hosts therefore have the same parent exactly if the contents are equal.
 * The first move creates the parent. It is deleted with its source.
 *
 * Failures are printed to standard error, and cost only time: without a parent, everything is sent.
 */
#pragma once

#include <stdbool.h>

#define PARENT_SOURCE_SIZE 64

/* Read the name of the source of a snapshot that is to be sent. It is the key user.sandlot.parent
 * in incusd's record of the instance, which is in the snapshot. Returns false when there is no
 * name. */
bool parent_source_of(const char *snapshot, char source[PARENT_SOURCE_SIZE]);

/* Create the parent, or find it, and return its path; the caller frees it. path: any path in the
 * pool's folder of instances. NULL: there is no parent. */
char *parent_make(const char *path, const char *source);

/* Return whether a snapshot descends from the same unpacked image as its parent on this host. A
 * snapshot that was received as a whole shares no data with the parent, even if the contents are
 * equal. */
bool parent_is_shared(const char *parent, const char *snapshot);

/* Delete the parent of an instance that is being deleted. */
void parent_remove(const char *instance);
