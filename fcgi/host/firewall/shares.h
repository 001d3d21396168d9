/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Divide the time of a thread, or the requests of a second, among the tenants of this host. Without
 * input and output.
 *
 * The last two seconds count, recent use more than earlier use. A team, and a user in all teams,
 * leaves half of the part that the others leave. So a tenant alone has half, two busy tenants have
 * a third each, and the next tenant always has room.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/tenant.h"

#define SHARES_PLACES 8192 /* tenants that fall on the same place share an allowance */

struct shares {
    double per_s; /* of all tenants together */
    struct share {
        double used;
        int64_t tick;
    } all, tenants[SHARES_PLACES];
};

/* Return whether a tenant has used less than its share. now_ms: monotonic, here and below. */
bool shares_has_room(struct shares *shares, const struct tenant *tenant, int64_t now_ms);

/* Count the use of a tenant. */
void shares_use(struct shares *shares, const struct tenant *tenant, double used, int64_t now_ms);
