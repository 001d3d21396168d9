/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "btrfs/subvolume.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/btrfs.h"

int subvolume_copy(const char *from, const char *to)
{
    return btrfs_subvolume_copy(from, to) < 0 ? -1 : EXIT_SUCCESS;
}

int subvolume_delete(const char *path)
{
    return btrfs_subvolume_delete(path) < 0 ? -1 : EXIT_SUCCESS;
}

int subvolume_tell_sealed(const char *path)
{
    int sealed = btrfs_subvolume_is_sealed(path);
    if (sealed < 0)
        return -1;
    puts(sealed ? "ro=true" : "ro=false");
    return EXIT_SUCCESS;
}

int subvolume_unseal(const char *path)
{
    return btrfs_subvolume_is_sealed(path) ? -1 : EXIT_SUCCESS;
}
