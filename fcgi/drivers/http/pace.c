/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "http/pace.h"

#define US_PER_S   INT64_C(1000000)
#define MOST_TIMES 6 /* how often grace_s a quick client may have saved */

void pace_init(struct pace *pace, unsigned rate_min, unsigned grace_s)
{
    pace->rate_min = rate_min;
    pace->left_us = (int64_t)grace_s * US_PER_S;
    pace->most_us = pace->left_us * MOST_TIMES;
}

void pace_moved(struct pace *pace, size_t bytes)
{
    if (!pace->rate_min)
        return;
    int64_t room_us = pace->most_us - pace->left_us;
    /* Compared in bytes first: a large piece times a million is more than 64 bits hold. */
    if (bytes >= (uint64_t)(room_us / US_PER_S + 1) * pace->rate_min)
        pace->left_us = pace->most_us;
    else
        pace->left_us += (int64_t)bytes * US_PER_S / pace->rate_min;
    if (pace->left_us > pace->most_us)
        pace->left_us = pace->most_us;
}

void pace_waited(struct pace *pace, int64_t wait_us)
{
    if (pace->rate_min)
        pace->left_us -= wait_us;
}

bool pace_is_too_slow(const struct pace *pace)
{
    return pace->rate_min && pace->left_us < 0;
}
