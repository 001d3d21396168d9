/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "common/places.h"
#include "limits/disk.h"
#include "limits/group.h"
#include "limits/volumes.h"

struct limits {
    struct groups groups;
    struct disks disks;
    struct volumes volumes;
    struct places mounting; /* processes that mount, by their ids */
};

/* Accept on file descriptor 0, one order a connection, one after the other: each takes a
 * millisecond or less. Volumes are mounted by a process of their own for each order. Returns -1
 * with ERR_CONFIG when that is no socket to accept on; else not at all. */
int limits_serve(struct limits *limits, struct error **err);
