/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How much an instance's disk may hold, in a pool of btrfs with quotas. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "limits/order.h"

struct disks {
    const char *links; /* DISK_VIEW_LINKS; from there to the quota group of each instance */
    const char *pool;  /* where the storage pool is mounted */
};

/* The quota group that a link of incusd-exec names. Returns 0, or -1 when it is none. */
int disk_group_read(const char *target, char *uuid, size_t uuid_size, uint64_t *group);

/* Whether the pool is one of btrfs. Errors: ERR_RUNTIME_REFUSED. */
int disks_check(const struct disks *disks, struct error **err);

/* Set the limit as incusd does, which gives its instances a group. Errors: ERR_RUNTIME_REFUSED: it
 * holds more than that, the pool is all but full (fcgi/host/helper/guard), or it is none of this
 * kind. */
int disk_size(const struct disks *disks, const struct order *order, struct error **err);
