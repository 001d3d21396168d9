/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Read the requests to sandlot-limits: one line each (base/sizing.h). */
#pragma once

#include <stdbool.h>

#include "base/error.h"
#include "base/tenant.h"

#define ORDER_NAME_SIZE  32

#define ORDER_PATH_SIZE  1025
#define ORDER_MOUNTS_MAX 16

struct order_mount {
    char volume[ORDER_NAME_SIZE]; /* vol-… */
    char path[ORDER_PATH_SIZE];   /* absolute, without . and .. and empty parts */
};

struct order {
    char instance[ORDER_NAME_SIZE]; /* a sandbox or warm instance: sbx-…, warm-… */
    unsigned cpu, memory_mb;        /* cpu 0: the line names the tenant alone */
    unsigned disk_gb;               /* 0: unchanged */
    struct tenant tenant;           /* zeros: not known */
    struct order_mount mounts[ORDER_MOUNTS_MAX];
    unsigned mount_count;
};

/* Return whether a name has the form that sandlot gives to instances of sandboxes. */
bool order_name_is_valid(const char *name);

/* Read a line, without its line feed. Errors: ERR_INVALID_REQUEST. */
int order_read(const char *line, struct order *order, struct error **err);
