/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "firewall/shares.h"

/* After each tick, this part of the use is left. A constant use of one in a tick adds up to
 * 1 / (1 - KEPT) = 20, which is the use of two seconds. */
#define TICK_MS   100
#define KEPT      0.95
#define SPAN_S    2
#define TICKS_MAX 256 /* then nothing is left */

/* Return the use that is left now. Ticks are counted from a common start, so the parts of the
 * tenants add up to that of all. */
static double *used_now(struct share *share, int64_t now_ms)
{
    int64_t tick = now_ms / TICK_MS;
    if (tick - share->tick > TICKS_MAX)
        share->used = 0;
    for (int64_t left = share->used > 0 ? tick - share->tick : 0; left > 0; left--)
        share->used *= KEPT;
    share->tick = tick;
    return &share->used;
}

static struct share *share_of(struct shares *shares, uint64_t number)
{
    return &shares->tenants[number % SHARES_PLACES];
}

static bool has_room(struct shares *shares, uint64_t number, int64_t now_ms)
{
    double own = *used_now(share_of(shares, number), now_ms);
    double others = *used_now(&shares->all, now_ms) - own;
    return own < (shares->per_s * SPAN_S - others) / 2;
}

bool shares_has_room(struct shares *shares, const struct tenant *tenant, int64_t now_ms)
{
    return has_room(shares, tenant->team, now_ms) &&
           (!tenant->user || has_room(shares, tenant->user, now_ms));
}

void shares_use(struct shares *shares, const struct tenant *tenant, double used, int64_t now_ms)
{
    *used_now(&shares->all, now_ms) += used;
    *used_now(share_of(shares, tenant->team), now_ms) += used;
    if (tenant->user && share_of(shares, tenant->user) != share_of(shares, tenant->team))
        *used_now(share_of(shares, tenant->user), now_ms) += used;
}
