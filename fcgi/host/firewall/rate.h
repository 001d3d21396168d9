/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Limit a rate, with a burst. All zeroes: unused. Without input and output. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct rate {
    double left;
    int64_t at_ms; /* monotonic */
};

/* Take one from a rate with this burst and per_s for each second. Returns false when the rate is
 * used up. */
bool rate_take(struct rate *rate, double burst, double per_s, int64_t now_ms);
