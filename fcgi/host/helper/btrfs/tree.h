/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Calculate a digest of a folder's contents. Two trees have the same digest if `btrfs send` of one
 * creates the other.
 *
 * The digest covers names, kinds, owners, rights, times, extended attributes, hard links and data.
 * It does not cover metadata that a stream does not carry: access times, inode change times, and
 * flags.
 */
#pragma once

#include <stdint.h>

#define TREE_DIGEST_SIZE 16

#define TREE_BYTES_MAX   (UINT64_C(64) << 30)

/* Calculate the BLAKE2b digest of a tree that is not being written to. Sets the modification times
 * of all folders to the epoch: hosts that unpacked the same image did so at different times.
 * bytes_max: the most data, up to TREE_BYTES_MAX. Returns 0, or -1 with errno. E2BIG: too many
 * files, too large folders, too much data, or more than two minutes. */
int tree_digest(const char *path, uint64_t bytes_max, unsigned char digest[TREE_DIGEST_SIZE]);
