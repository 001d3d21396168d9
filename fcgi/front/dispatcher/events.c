/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "event/event.h"

#include "base/clock.h"
#include "base/log.h"
#include "dispatcher/jobs.h"
#include "sandbox/sandbox_events.h"

#define AHEAD_MS   5000
#define PURGE_MS   60000
#define HEARS_MS   5000 /* the longest wait for a notice */
#define FAILURE_MS 1000
#define HOUR_MS    (60 * 60 * 1000)
/* Number the events of a burst together: the first after GATHER_MS, the others BURST_MS apart. */
#define GATHER_MS 10
#define BURST_MS  40

struct turns {
    int64_t ahead_at_ms, purge_at_ms; /* monotonic */
    uint64_t purged_to;
};

/* Create events for near deadlines and quotas. *more: more deadlines are near. */
static int look_ahead(struct worker *worker, bool *more, struct error **err)
{
    uint64_t near_ms = worker->settings->deadline_near_s * 1000;
    if (near_ms && sandbox_tell_deadlines(worker->db, near_ms, more, err) < 0)
        return -1;
    return sandbox_tell_quotas(worker->db, err);
}

static int take_turn(struct worker *worker, struct turns *turns, bool *more, struct error **err)
{
    const struct settings *settings = worker->settings;
    int64_t now_ms = clock_monotonic_ms();
    unsigned count;
    bool busy, again = false;
    if (event_number(worker->db, &count, &busy, err) < 0)
        return -1;
    *more = count > 0 || busy;
    if (count)
        notify_send(settings->api_socket, NOTIFY_DELIVERIES);
    if (now_ms >= turns->ahead_at_ms) {
        if (look_ahead(worker, &again, err) < 0)
            return -1;
        turns->ahead_at_ms = again ? now_ms : now_ms + AHEAD_MS;
    }
    if (now_ms >= turns->purge_at_ms) {
        if (event_purge(worker->db, settings->events_retention_h * HOUR_MS,
                        settings->events_per_team, &turns->purged_to, &again, err) < 0)
            return -1;
        turns->purge_at_ms = again ? now_ms : now_ms + PURGE_MS;
    }
    return 0;
}

/* Any number of dispatchers may call this: one numbers events while the others wait for its
 * lock. */
void events_serve(struct worker *worker, const volatile sig_atomic_t *stop)
{
    struct turns turns = {0};
    const struct settings *settings = worker->settings;
    int notices = notify_open(settings->api_socket, NOTIFY_EVENTS);
    unsigned rest_ms = notices < 0 ? (unsigned)settings->dispatcher_poll_ms : HEARS_MS;
    while (!*stop) {
        error_auto err = NULL;
        bool more = false;
        if (take_turn(worker, &turns, &more, &err) < 0) {
            log_warning("cannot publish new events; trying again", LOG_ERROR(err));
            clock_sleep_ms(FAILURE_MS);
        } else if (!*stop) {
            if (!more)
                notify_wait(notices, rest_ms);
            clock_sleep_ms(more ? BURST_MS : GATHER_MS);
        }
    }
    notify_close(notices);
}
