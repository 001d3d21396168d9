/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "base/places.h"
#include "limits/balance.h"
#include "limits/disk.h"
#include "limits/group.h"
#include "limits/spread.h"
#include "limits/volumes.h"

struct limits {
    struct groups groups;
    struct spread *spread;
    struct disks disks;
    struct volumes volumes;
    struct balance *balance;
    struct places mounting; /* by process id */
};

/* Accept connections on file descriptor 0, and handle one order after another. A separate process
 * does the work inside an instance: it resizes /dev/shm, and mounts the volumes of the order.
 * Returns only with ERR_CONFIG: the descriptor is not a listening socket. */
int limits_serve(struct limits *limits, struct error **err);
