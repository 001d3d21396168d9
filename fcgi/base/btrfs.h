/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#define BTRFS_UUID_TEXT_SIZE 37

/* The id of the file system that an open file lies in, as sysfs names it. Returns 0, or -1 with
 * errno when it is no btrfs. */
int btrfs_uuid_of(int fd, char text[BTRFS_UUID_TEXT_SIZE]);
