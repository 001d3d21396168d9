/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Set the size of a sandbox's disk, even when it is full.
 *
 * incusd passes the path of the sandbox's own subvolume to `btrfs qgroup limit`. The kernel charges
 * the change to that subvolume. A completely full one then refuses to grow ("Disk quota exceeded"),
 * and the sandbox could not start again. This call uses the top of the file system instead, which
 * is never full in this sense. A subvolume with a size belongs to a guest, so it joins the guests'
 * group of the pool.
 */
#pragma once

#include "helper/btrfs/btrfs_call.h"

/* How a quota group joins the guests. */
enum size_joiner {
    SIZE_JOINED, /* it has a size, and so is already a member */
    SIZE_HERE,   /* there is enough room: this call puts it into the group */
    SIZE_GUARD,  /* the guests' part of the pool is almost full: guard/pool.h */
};

/* Choose the way. groups: the folder of the pool's quota groups (common/btrfs.h). */
enum size_joiner size_joiner_of(const char *groups, uint64_t group);

/* Rename the memory image in a copy of a sandbox. The image has another owner, so incusd would
 * delete it before the first start, which needs it (helper/launcher). Failures are printed to
 * standard error. */
void size_put_aside(const char *instance);

/* Handle `qgroup limit`. Returns the exit status, or -1 when the path is not on btrfs. incusd reads
 * only the result of the limit itself. */
int size_set(const struct btrfs_call *asked);
