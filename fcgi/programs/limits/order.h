/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What sandlot-limits is asked for: one line (base/sizing.h). */
#pragma once

#include <stdbool.h>

#include "base/error.h"

#define ORDER_NAME_SIZE 32

struct order {
    char instance[ORDER_NAME_SIZE]; /* a sandbox's or a waiting one's: sbx-…, warm-… */
    unsigned cpu, memory_mb;
    unsigned disk_gb; /* 0: as it is */
};

/* Whether it is a name that sandlot gives to instances of sandboxes. */
bool order_name_is_valid(const char *name);

/* Errors: ERR_INVALID_REQUEST. */
int order_read(const char *line, struct order *order, struct error **err);
