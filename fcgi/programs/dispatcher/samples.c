/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/clock.h"
#include "base/log.h"
#include "dispatcher/jobs.h"
#include "metrics/sample.h"

#define POLL_MS 500

/* Rounds begin at whole multiples of the interval, so that a dispatcher which takes over goes on in
 * the same step. */
void sample_serve(struct worker *worker, const volatile sig_atomic_t *stop)
{
    int64_t interval_ms = (int64_t)worker->settings->metrics_interval_s * 1000;
    int64_t round = clock_now_ms() / interval_ms;
    struct sampler sampler = {0};
    bool more = true; /* to purge */
    while (!*stop) {
        error_auto err = NULL;
        bool due = clock_now_ms() / interval_ms != round;
        round = clock_now_ms() / interval_ms;
        if (due && worker->settings->metrics_retention_h &&
            sample_round(worker, &sampler, &err) < 0)
            log_warning("cannot take samples", LOG_ERROR(err));
        error_clear(&err);
        if ((due || more) && sample_purge(worker, &more, &err) < 0)
            log_warning("cannot delete old samples", LOG_ERROR(err));
        if (!*stop)
            clock_sleep_ms(POLL_MS);
    }
    sampler_deinit(&sampler);
}
