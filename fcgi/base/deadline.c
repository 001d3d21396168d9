/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/deadline.h"

#include <limits.h>

#include "base/clock.h"

struct deadline deadline_in_ms(unsigned ms)
{
    return (struct deadline){clock_monotonic_ms() + ms};
}

struct deadline deadline_within_ms(struct deadline whole, unsigned ms)
{
    struct deadline step = deadline_in_ms(ms);
    return step.at_ms < whole.at_ms ? step : whole;
}

unsigned deadline_left_ms(struct deadline deadline)
{
    int64_t left_ms = deadline.at_ms - clock_monotonic_ms();
    return left_ms <= 0 ? 0 : left_ms < UINT_MAX ? (unsigned)left_ms : UINT_MAX;
}

bool deadline_passed(struct deadline deadline)
{
    return deadline_left_ms(deadline) == 0;
}
