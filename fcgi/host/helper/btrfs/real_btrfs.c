/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "helper/btrfs/real_btrfs.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "helper/common/self.h"

/* Set in the environment of all programs that this one calls. */
#define CALLED "SANDLOT_BTRFS_WRAPPER"

int real_btrfs_prepare(void)
{
    const char *called = getenv(CALLED), *path = getenv("PATH");
    if (called && *called) {
        fprintf(stderr, "btrfs: only %s is in PATH\n", self_path());
        return -1;
    }
    autofree char *others = self_path_without(path ? path : "", "btrfs");
    setenv(CALLED, "1", 1);
    setenv("PATH", others, 1);
    return 0;
}
