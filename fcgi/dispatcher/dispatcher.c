/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "dispatcher/dispatcher.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "idempotency/idempotency.h"
#include "sandbox/warm.h"

#define SWEEP_INTERVAL_MS 60000
#define FAILURE_PAUSE_MS  500 /* with the database away */

/* Kinds of due work, most urgent first. */
static const struct {
    const char *name;
    int (*next)(struct sandbox_service *service, bool *worked, struct error **err);
} queues[] = {
    {"deadlines", sandbox_expire_next},
    {"operations", sandbox_recover_next},
    {"warm pool", warm_tend_next},
};

/* One round over all kinds; true when anything was done. */
static bool work_once(struct sandbox_service *service)
{
    bool any = false;
    for (size_t i = 0; i < ARRAY_SIZE(queues); i++) {
        error_auto err = NULL;
        bool worked = false;
        if (queues[i].next(service, &worked, &err) < 0) {
            log_warning("due work failed", LOG_STR("queue", queues[i].name), LOG_ERROR(err));
            if (!worked)
                clock_sleep_ms(FAILURE_PAUSE_MS);
        }
        any |= worked;
        log_context_clear();
    }
    return any;
}

/* Slow work that nobody waits for. */
static void sweep(struct sandbox_service *service)
{
    error_auto err = NULL;
    if (sandbox_sweep(service, &err) < 0 || idempotency_purge(service->db, &err) < 0)
        log_warning("sweep failed", LOG_ERROR(err));
}

void dispatcher_run(struct sandbox_service *service, const volatile sig_atomic_t *stop)
{
    int64_t sweep_at_ms = clock_monotonic_ms() + SWEEP_INTERVAL_MS;
    while (!*stop) {
        if (clock_monotonic_ms() >= sweep_at_ms) {
            sweep_at_ms = clock_monotonic_ms() + SWEEP_INTERVAL_MS;
            sweep(service);
        }
        if (!work_once(service) && !*stop)
            clock_sleep_ms((unsigned)service->settings->dispatcher_poll_ms);
    }
}
