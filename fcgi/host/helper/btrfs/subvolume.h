/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Answer the calls of incusd at each start, end and copy that need only one ioctl.
 *
 * Each returns EXIT_SUCCESS, or -1 without a message. After -1, the real btrfs is called: it fails
 * with its own message, or handles a case that is not handled here.
 */
#pragma once

/* Handle `subvolume snapshot` to a path that does not exist, and `subvolume delete`. incusd ignores
 * their output. */
int subvolume_copy(const char *from, const char *to);
int subvolume_delete(const char *path);

/* Handle `property get` and `qgroup show -e -f --raw`, and print the answer. For the second, btrfs
 * itself reads the groups of all subvolumes. */
int subvolume_tell_sealed(const char *path);
int subvolume_tell_group(const char *path);

/* Handle `property set … ro false`, which comes before each deletion, for a writable subvolume. */
int subvolume_unseal(const char *path);
