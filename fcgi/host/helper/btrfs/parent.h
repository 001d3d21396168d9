/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A move sends only what a sandbox has changed in its template, where sender and receiver have
 * unpacked the same image: what btrfs calls an incremental stream, with a parent that both have.
 *
 * The parent is a sealed copy of the template's source without what incusd writes beside it, at
 * sandlot-parents in the pool. It counts as received (`btrfs receive` looks for it by that) from a
 * subvolume whose id is the digest of all that is in it, so that the parents of two hosts are the
 * same one to btrfs exactly if they have the same content. It is made when a move first wants it,
 * and removed with its source.
 *
 * What fails is said on standard error. Nothing is lost by it: without a parent all is sent.
 */
#pragma once

#include <stdbool.h>

#define PARENT_SOURCE_SIZE 64

/* The source that incusd was told of for what is to be sent: the key user.sandlot.parent of the
 * instance, by incusd's own record of that, which is in the snapshot. false: none. */
bool parent_source_of(const char *snapshot, char source[PARENT_SOURCE_SIZE]);

/* Where the parent is; path: any in the folder of the instances. The caller frees it. NULL: there
 * is none. */
char *parent_make(const char *path, const char *source);

/* Whether a snapshot goes back to the same unpacked image as its parent on this host. One that came
 * from elsewhere as a whole has nothing in common with it but the content. */
bool parent_is_shared(const char *parent, const char *snapshot);

/* An instance is removed. */
void parent_remove(const char *instance);
