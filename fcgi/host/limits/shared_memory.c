/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "limits/shared_memory.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/vfs.h>

#include "base/cleanup.h"
#include "limits/inside.h"

static const char *size_inside(const void *context)
{
    const unsigned *memory_mb = context;
    char size[16];
    struct statfs found;
    int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    int place = root < 0 ? -1 : inside_open(root, "dev/shm", O_DIRECTORY, 0);
    if (place < 0 || fstatfs(place, &found) < 0 || found.f_type != TMPFS_MAGIC)
        return NULL;
    int change = fspick(place, "", FSPICK_CLOEXEC | FSPICK_EMPTY_PATH);
    snprintf(size, sizeof size, "%um", *memory_mb / 2);
    if (change < 0 || fsconfig(change, FSCONFIG_SET_STRING, "size", size, 0) < 0 ||
        fsconfig(change, FSCONFIG_CMD_RECONFIGURE, NULL, NULL, 0) < 0)
        return "cannot set the size of its /dev/shm";
    return NULL;
}

int shared_memory_size(const struct groups *groups, const struct order *order, unsigned most_ms,
                       struct error **err)
{
    autoclose int init = -1;
    return inside_find(groups, order->instance, &init, err) < 0
               ? -1
               : inside_run(init, most_ms, size_inside, &order->memory_mb, err);
}
