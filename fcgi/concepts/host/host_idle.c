/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/host_idle.h"

#include "base/clock.h"
#include "network/firewall_client.h"

#define MOMENT_MS 50 /* five ticks of the kernel's accounting on each processor */

struct reading {
    uint64_t idle_ms;
    int64_t at_ms; /* monotonic */
};

static bool read_idle(struct firewall *firewall, struct reading *reading)
{
    error_auto ignored = NULL;
    struct firewall_host host;
    if (firewall_host(firewall, &host, &ignored) < 0)
        return false;
    *reading = (struct reading){host.idle_ms, clock_monotonic_ms()};
    return host.idle_ms > 0;
}

bool host_wait_idle(struct firewall *firewall, unsigned most_ms)
{
    int64_t give_up_ms = clock_monotonic_ms() + most_ms;
    struct reading before, now;
    if (!firewall || !read_idle(firewall, &before))
        return true;
    while (clock_monotonic_ms() < give_up_ms) {
        clock_sleep_ms(MOMENT_MS);
        if (!read_idle(firewall, &now) ||
            2 * (now.idle_ms - before.idle_ms) >= (uint64_t)(now.at_ms - before.at_ms))
            return true;
        before = now;
    }
    return false;
}
