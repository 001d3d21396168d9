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

/* Accept connections on file descriptor 0 and handle one order after another, each in a millisecond
 * or less. A separate process mounts the volumes of an order. Returns -1 with ERR_CONFIG when the
 * descriptor is not a listening socket; else it never returns. */
int limits_serve(struct limits *limits, struct error **err);
