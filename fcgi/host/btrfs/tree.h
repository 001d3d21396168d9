/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is in a folder, as one number: two trees have the same when `btrfs send` of one makes the
 * other. Names, kinds, owners, rights, times, extended attributes, hard links and data count; what
 * a stream does not carry (times of access and of change of an inode, flags) does not.
 */
#pragma once

#define TREE_DIGEST_SIZE 16

/* BLAKE2b, of a tree in which nobody writes. All its folders are given the epoch as their time of
 * change: two hosts that have unpacked the same image have made something in it at different times.
 * Returns 0, or -1 with errno: E2BIG for a tree of more files, larger folders or more data than is
 * looked at. */
int tree_digest(const char *path, unsigned char digest[TREE_DIGEST_SIZE]);
