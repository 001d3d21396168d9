/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is in a folder, as one number: two trees have the same when `btrfs send` of one makes the
 * other. Names, kinds, owners, rights, times, extended attributes, hard links and data count; what
 * a stream does not carry (times of access and of change of an inode, flags) does not.
 */
#pragma once

#include <stdint.h>

#define TREE_DIGEST_SIZE 16

#define TREE_BYTES_MAX   (UINT64_C(64) << 30)

/* BLAKE2b, of a tree in which nobody writes. All its folders are given the epoch as their time of
 * change: two hosts that have unpacked the same image have made something in it at different times.
 * bytes_max: of data, at most TREE_BYTES_MAX. Returns 0, or -1 with errno: E2BIG for a tree of more
 * files, larger folders or more data than is read, or of one that takes more than two minutes. */
int tree_digest(const char *path, uint64_t bytes_max, unsigned char digest[TREE_DIGEST_SIZE]);
