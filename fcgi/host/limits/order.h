/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What sandlot-limits is asked for: one line (base/sizing.h). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

#define ORDER_NAME_SIZE  32

#define ORDER_PATH_SIZE  1025
#define ORDER_MOUNTS_MAX 16

struct order_mount {
    char volume[ORDER_NAME_SIZE]; /* vol-… */
    char path[ORDER_PATH_SIZE];   /* absolute, without . and .. and empty parts */
};

struct order {
    char instance[ORDER_NAME_SIZE]; /* a sandbox's or a waiting one's: sbx-…, warm-… */
    unsigned cpu, memory_mb;
    unsigned disk_gb; /* 0: as it is */
    uint64_t tenant;  /* 0: not known */
    struct order_mount mounts[ORDER_MOUNTS_MAX];
    unsigned mount_count;
};

/* Whether it is a name that sandlot gives to instances of sandboxes. */
bool order_name_is_valid(const char *name);

/* Errors: ERR_INVALID_REQUEST. */
int order_read(const char *line, struct order *order, struct error **err);
