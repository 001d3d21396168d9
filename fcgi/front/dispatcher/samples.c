/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/clock.h"
#include "base/log.h"
#include "db/named_lease.h"
#include "dispatcher/jobs.h"
#include "metrics/sample.h"

#define POLL_MS      500
#define SHARE_OF_ONE 20 /* a look between rounds takes at most 1/20 of the time */

/* Return the time of the next look between rounds, after one of took_ms. */
static int64_t soon_after(int64_t took_ms)
{
    int64_t pause_ms = took_ms * SHARE_OF_ONE;
    return clock_monotonic_ms() + (pause_ms > SAMPLE_SOON_MS ? pause_ms : SAMPLE_SOON_MS) - took_ms;
}

/* Take samples. Returns the time of the next look. */
static int64_t take(struct worker *worker, struct sampler *sampler,
                    int (*look)(struct worker *, struct sampler *, struct error **))
{
    error_auto err = NULL;
    int64_t began_ms = clock_monotonic_ms();
    if (look(worker, sampler, &err) < 0)
        log_warning("cannot measure the sandboxes; trying again", LOG_ERROR(err));
    return soon_after(clock_monotonic_ms() - began_ms);
}

/* Rounds start at whole multiples of the interval, so a dispatcher that takes over keeps the
 * rhythm. */
void sample_serve(struct worker *worker, const volatile sig_atomic_t *stop)
{
    int64_t interval_ms = (int64_t)worker->settings->metrics_interval_s * 1000;
    int64_t round = clock_now_ms() / interval_ms;
    struct sampler sampler = {0};
    bool more = true; /* to purge */
    int64_t soon_ms = 0;
    while (!*stop) {
        error_auto err = NULL;
        bool due = clock_now_ms() / interval_ms != round;
        round = clock_now_ms() / interval_ms;
        bool soon = clock_monotonic_ms() >= soon_ms;
        if ((due || soon) && worker->settings->metrics_retention_h)
            soon_ms = take(worker, &sampler, due ? sample_round : sample_soon);
        if ((due || more) && sample_purge(worker, &more, &err) < 0)
            log_warning("cannot delete old measurements; trying again", LOG_ERROR(err));
        if (!*stop)
            clock_sleep_ms(POLL_MS);
    }
    sampler_deinit(&sampler);
    error_auto ignored = NULL;
    named_lease_release(worker->db, SAMPLE_LEASE, worker->lease_owner, &ignored);
}
