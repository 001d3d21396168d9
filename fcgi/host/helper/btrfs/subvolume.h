/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What incusd asks at each start, end and copy, and one ioctl answers. Nothing is said of a
 * failure: btrfs is asked then, which fails likewise, or knows a case that is not looked at here,
 * and says so itself. Each returns EXIT_SUCCESS, or -1 for that.
 */
#pragma once

/* `subvolume snapshot`, of a place where nothing is, and `subvolume delete`: incusd does not look
 * at what they print. */
int subvolume_copy(const char *from, const char *to);
int subvolume_delete(const char *path);

/* `property get` and `qgroup show -e -f --raw`: what it prints is printed. btrfs itself looks at
 * the groups of all subvolumes for the second. */
int subvolume_tell_sealed(const char *path);
int subvolume_tell_group(const char *path);

/* `property set … ro false`, before each deletion: of one that can be written to. */
int subvolume_unseal(const char *path);
