/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * incusd gives `btrfs qgroup limit` the path of the sandbox's own subvolume, and the kernel books
 * the change of the limit to that: one that is filled to the last block refuses to get more room
 * ("Disk quota exceeded"), and could not be started again. The top of the file system does as well,
 * and it is never full in this sense. What has a size is a guest's, and joins those who share the
 * guests' part of the pool.
 */
#pragma once

#include "helper/btrfs/asked.h"

/* Who puts a quota group among the guests'. */
enum size_joiner {
    SIZE_JOINED, /* it has a size, and is where it belongs */
    SIZE_HERE,   /* with room for all there is nothing else to do */
    SIZE_GUARD,  /* the guests' part of the pool is all but full: guard/join.h */
};

/* groups: the folder of the pool's quota groups (common/btrfs.h). */
enum size_joiner size_joiner_of(const char *groups, uint64_t group);

/* Of a copy of a sandbox with its memory, the image. It is of another one, and incusd would remove
 * it before the first start, in which helper/launcher finds it. Failures are said on
 * standard error. */
void size_put_aside(const char *instance);

/* `qgroup limit`. Returns the exit status, or -1 where there is no such file system; incusd reads
 * the result of the limit alone. */
int size_set(const struct asked *asked);
