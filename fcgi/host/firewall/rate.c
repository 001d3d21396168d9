/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "firewall/rate.h"

bool rate_take(struct rate *rate, double burst, double per_s, int64_t now_ms)
{
    if (!rate->at_ms)
        rate->left = burst;
    else
        rate->left += (double)(now_ms - rate->at_ms) * per_s / 1000;
    rate->at_ms = now_ms;
    if (rate->left > burst)
        rate->left = burst;
    if (rate->left < 1)
        return false;
    rate->left--;
    return true;
}
