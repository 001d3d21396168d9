/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/btrfs.h"

#include <linux/btrfs.h>
#include <stdio.h>
#include <sys/ioctl.h>

int btrfs_uuid_of(int fd, char text[BTRFS_UUID_TEXT_SIZE])
{
    struct btrfs_ioctl_fs_info_args info = {.max_id = 0};
    size_t size = 0;
    if (ioctl(fd, BTRFS_IOC_FS_INFO, &info) < 0)
        return -1;
    for (size_t i = 0; i < BTRFS_FSID_SIZE; i++)
        size += (size_t)snprintf(text + size, BTRFS_UUID_TEXT_SIZE - size,
                                 i == 4 || i == 6 || i == 8 || i == 10 ? "-%02x" : "%02x",
                                 info.fsid[i]);
    return 0;
}
