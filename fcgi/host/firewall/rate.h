/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A rate of so many at once, and so many more each second. All zeroes: nothing was taken yet. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct rate {
    double left;
    int64_t at_ms; /* monotonic */
};

/* Take one from a rate of burst at once and per_s each second; false when there is none left. */
bool rate_take(struct rate *rate, double burst, double per_s, int64_t now_ms);
