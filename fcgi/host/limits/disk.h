/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Limit the disk of an instance, in a btrfs pool with quotas. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "limits/order.h"

struct disks {
    const char *links; /* DISK_VIEW_LINKS: the links to the quota groups of instances */
    const char *pool;  /* the mount point of the storage pool */
};

/* Read the file system and quota group from the target of a link that incusd-exec made. Returns 0,
 * or -1 when the target has another form. */
int disk_group_read(const char *target, char *uuid, size_t uuid_size, uint64_t *group);

/* Check that the pool is on btrfs. Errors: ERR_RUNTIME_REFUSED. */
int disks_check(const struct disks *disks, struct error **err);

/* Set the limit of an instance's disk, as incusd does. Errors: ERR_RUNTIME_REFUSED: the disk has
 * more than the limit, or no quota group with a limit in this storage pool. Or the storage pool is
 * almost full (fcgi/host/helper/guard). */
int disk_size(const struct disks *disks, const struct order *order, struct error **err);
