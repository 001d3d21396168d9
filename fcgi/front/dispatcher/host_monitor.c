/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "dispatcher/host_monitor.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "account/usage.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "dispatcher/host_pulse.h"
#include "dispatcher/sandbox_sweep.h"
#include "host/host.h"
#include "metrics/sample.h"
#include "network/firewall_client.h"
#include "sandbox/lifecycle_steps.h"
#include "sandbox/sandbox_events.h"
#include "sandbox/sandbox_row.h"
#include "template/warm.h"

enum {
    TURN_MOST_MS = 500,
    /* Between two listings, without and with events. A listing costs Incus 0.35 ms of processor
     * time for each instance. */
    POLL_MS = 1000,
    SWEEP_MS = 5000,
    SWEEP_MOST_MS = 60000,
    SWEEP_SHARE = 200, /* the rest after a listing, as a multiple of its duration */
    MEASURE_MS = 3000,
    POOL_SAME_MS = 15000,     /* between two records of an unchanged storage pool */
    MEASURE_AGAIN_MS = 30000, /* the memory, after a failure of the firewall */
    LOOK_AGAIN_MS = 500,      /* at a host that does not answer */
    SAY_AGAIN_MS = 2000,      /* the record that its events arrive */
    /* Longer than the reboot of a guest takes; with POLL_MS below two seconds. */
    REBOOT_MS = 800,
    /* Incus is working on the instance: ask again. */
    ASK_AGAIN_MS = 100,
    ASK_MOST_MS = 30000,
    PATIENCE_MS = 1500,
    BACK_OFF_MIN_MS = 500,
    BACK_OFF_MAX_MS = 8000,
    /* The next listing finds more. */
    CANDIDATES_MAX = 1024,
    /* A sandbox that rebooted at least so many times, at most so far apart, ended because of its
     * reboots; the log says so. Its host slows such reboots down and ends them
     * (fcgi/host/helper/launcher). */
    REBOOTS_MANY = 3,
    REBOOTS_APART_MS = 90000,
    REBOOTING_MAX = 256,
    /* Without samples for so many intervals before its end was noticed, a sandbox ended earlier. */
    SAMPLES_MISSED = 3,
};

/* An instance that is down by an event or a listing. */
struct candidate {
    char instance_name[INSTANCE_NAME_SIZE];
    int64_t due_ms, give_up_ms; /* monotonic */
    int64_t alive_ms;           /* a listing then had it running, if its run is so old; 0: none */
};

/* An instance that rebooted by itself. */
struct rebooting {
    char instance_name[INSTANCE_NAME_SIZE];
    unsigned times;
    int64_t last_ms; /* monotonic */
};

struct host_monitor {
    struct worker *worker;
    uint32_t host_id;
    void (*restarted)(const char *instance_name);
    struct host_pulse *pulse;
    struct runtime *runtime; /* NULL before the first listing */
    struct candidate candidates[CANDIDATES_MAX];
    size_t candidate_count;
    int64_t listed_ms; /* the last listing that found all ends; 0: none yet */
    struct rebooting rebooting[REBOOTING_MAX];
    uint64_t pool_total_mb, pool_used_mb; /* as recorded */
    int64_t pool_record_at_ms;            /* monotonic */
    bool memory_low, memory_noted;
    unsigned processors; /* as recorded; 0: not yet */
    bool hears;          /* events arrive, so no end is missed */
    unsigned back_off_ms;
    int64_t listen_at_ms, list_at_ms, measure_at_ms, memory_at_ms; /* monotonic */
    int64_t said_ms;                                               /* of the last record */
};

static void mark_heard(struct host_monitor *monitor, bool heard)
{
    error_auto err = NULL;
    monitor->hears = heard;
    monitor->said_ms = clock_monotonic_ms();
    if (host_mark_heard(monitor->worker->db, monitor->host_id, monitor->worker->lease_owner, heard,
                        &err) < 0)
        log_warning("cannot record the state of a host's event stream; trying again",
                    LOG_INT("host", monitor->host_id), LOG_ERROR(err));
}

struct host_monitor *host_monitor_new(struct worker *worker, uint32_t host_id,
                                      void (*restarted)(const char *instance_name))
{
    struct host_monitor *monitor = xcalloc(1, sizeof *monitor);
    monitor->worker = worker;
    monitor->host_id = host_id;
    monitor->restarted = restarted;
    monitor->pulse = host_pulse_new(worker, host_id);
    runtimes_regardless(worker->runtimes);
    return monitor;
}

void host_monitor_free(struct host_monitor *monitor)
{
    if (monitor->hears)
        mark_heard(monitor, false);
    host_pulse_free(monitor->pulse);
    free(monitor);
}

/* --- reboots --- */

/* Return the entry of an instance, or NULL. */
static struct rebooting *rebooting_of(struct host_monitor *monitor, const char *instance_name)
{
    for (size_t i = 0; i < REBOOTING_MAX; i++)
        if (!strcmp(monitor->rebooting[i].instance_name, instance_name))
            return &monitor->rebooting[i];
    return NULL;
}

static unsigned times_of(const struct rebooting *one, int64_t now_ms)
{
    return now_ms - one->last_ms > REBOOTS_APART_MS ? 0 : one->times;
}

/* Return the entry to replace with a new instance: the oldest entry with the fewest reboots.
 * Many instances that reboot once do not replace one that reboots repeatedly. */
static struct rebooting *rebooting_least(struct host_monitor *monitor, int64_t now_ms)
{
    struct rebooting *least = monitor->rebooting;
    for (struct rebooting *one = least; one < monitor->rebooting + REBOOTING_MAX; one++) {
        unsigned times = times_of(one, now_ms), fewest = times_of(least, now_ms);
        if (times < fewest || (times == fewest && one->last_ms < least->last_ms))
            least = one;
    }
    return least;
}

static void count_reboot(struct host_monitor *monitor, const char *instance_name)
{
    int64_t now_ms = clock_monotonic_ms();
    struct rebooting *one = rebooting_of(monitor, instance_name);
    if (!one) {
        one = rebooting_least(monitor, now_ms);
        *one = (struct rebooting){0};
        snprintf(one->instance_name, sizeof one->instance_name, "%s", instance_name);
    }
    one->times = times_of(one, now_ms) + 1;
    one->last_ms = now_ms;
}

/* Return the number of reboots because of which an instance ended; 0: it ended otherwise. */
static unsigned looped(struct host_monitor *monitor, const char *instance_name)
{
    const struct rebooting *one = rebooting_of(monitor, instance_name);
    unsigned times = one ? times_of(one, clock_monotonic_ms()) : 0;
    return times >= REBOOTS_MANY ? times : 0;
}

static void log_end(struct host_monitor *monitor, const char *id, const char *instance_name,
                    const char *loss)
{
    unsigned reboots = looped(monitor, instance_name);
    if (*loss)
        log_warning("a sandbox stopped because its memory could not be completed after a "
                    "resume; it will start from its disk",
                    LOG_STR("sandbox", id), LOG_STR("cause", loss));
    else if (reboots)
        log_warning("stopped a sandbox that rebooted repeatedly", LOG_STR("sandbox", id),
                    LOG_INT("reboots", reboots));
    else
        log_warning("a sandbox stopped by itself", LOG_STR("sandbox", id));
}

/* --- checking one instance --- */

/* The check of an instance. The host is asked before the row is locked, so that no other request
 * waits for a slow host. If the row's version is still the same, no operation of the sandbox has
 * started since, so the host's answer is still true. */
struct verdict {
    const char *id, *reason;
    uint32_t host_id;
    struct runtime *runtime;
    enum runtime_status status;
    uint64_t version; /* of the row before the host was asked */
    int64_t late_ms;  /* so long after the last sign of life, the end was noticed late */
    int64_t alive_ms; /* as in struct candidate */
    bool ended, is_old;
    char loss[MEMORY_LOSS_SIZE];
};

/* Ask the host why the sandbox ended. Without an answer, it has ended by itself. */
static void find_loss(struct verdict *verdict, const struct sandbox *sandbox)
{
    error_auto ignored = NULL;
    const struct runtime_measure_ops *measure = verdict->runtime->ops->measure;
    if (str_equal(sandbox->resumed_from, "memory") &&
        measure->memory_loss(verdict->runtime, sandbox->instance_name, verdict->loss, &ignored) < 0)
        log_warning("cannot ask a host why a sandbox ended; recording that it stopped by itself",
                    LOG_STR("sandbox", verdict->id), LOG_INT("host", verdict->host_id),
                    LOG_ERROR(ignored));
}

/* Ask the host about the instance. Sets the status: RUNTIME_ABSENT if there is nothing to check. */
static int ask_host(struct db *db, struct verdict *verdict, bool *is_down, struct error **err)
{
    sandbox_auto sandbox = {0};
    *is_down = false;
    if (sandbox_get_any(db, verdict->id, false, &sandbox, err) < 0)
        return -1;
    if (sandbox.state != SANDBOX_READY || sandbox.host_id != verdict->host_id)
        return 0;
    verdict->version = sandbox.version;
    if (verdict->runtime->ops->inspect(verdict->runtime, sandbox.instance_name, &verdict->status,
                                       err) < 0)
        return -1;
    *is_down = runtime_is_down(verdict->status);
    if (*is_down)
        find_loss(verdict, &sandbox);
    return 0;
}

/* End the runtime. If the end was noticed late, as after a reboot of the host, its time is unknown:
 * the runtime ends at the last sign of life, a sample or a listing, as on a host that is lost. */
static int end_runtime(struct db *db, const struct verdict *verdict, const struct sandbox *sandbox,
                       struct error **err)
{
    int64_t seen_ms = 0;
    if (sample_last_of_run(db, sandbox->id, verdict->host_id, &seen_ms, err) < 0)
        return -1;
    if (seen_ms && verdict->alive_ms > seen_ms)
        seen_ms = verdict->alive_ms;
    bool late = seen_ms && sandbox->updated_at_ms - seen_ms > verdict->late_ms;
    return usage_follow(db, sandbox->id, USAGE_STORAGE, late ? seen_ms : sandbox->updated_at_ms,
                        err);
}

static int verdict_body(struct db *db, void *context, struct error **err)
{
    struct verdict *verdict = context;
    sandbox_auto sandbox = {0};
    verdict->ended = verdict->is_old = false;
    if (sandbox_get_any(db, verdict->id, true, &sandbox, err) < 0)
        return -1;
    if (sandbox.version != verdict->version) {
        verdict->is_old = true;
        return 0;
    }
    if (sandbox_state_next(sandbox.state, SANDBOX_EVENT_DIED, &sandbox.state, err) < 0)
        return -1;
    sandbox.incarnation++;
    snprintf(sandbox.stop_reason, sizeof sandbox.stop_reason, "%s",
             *verdict->loss ? STOPPED_MEMORY_LOST : verdict->reason);
    sandbox_apply_event(&sandbox, SANDBOX_EVENT_DIED);
    verdict->ended = true;
    if (sandbox_row_update(db, &sandbox, err) < 0 ||
        sandbox_tell_move(db, &sandbox, SANDBOX_EVENT_DIED, false, err) < 0)
        return -1;
    return end_runtime(db, verdict, &sandbox, err);
}

static int find_verdict(struct db *db, struct verdict *verdict, struct error **err)
{
    bool is_down;
    runtime_limit(verdict->runtime, PATIENCE_MS);
    int result = ask_host(db, verdict, &is_down, err);
    runtime_limit(verdict->runtime, 0);
    return result < 0 || !is_down ? result : db_transaction(db, verdict_body, verdict, err);
}

/* Check an instance. *again_ms: the milliseconds until the next check; 0: finished. */
static int check(struct host_monitor *monitor, const struct candidate *one, unsigned *again_ms,
                 struct error **err)
{
    struct worker *worker = monitor->worker;
    char id[ID_SIZE];
    enum sandbox_state state = SANDBOX_DESTROYED;
    *again_ms = 0;
    if (sandbox_row_of_instance(worker->db, monitor->host_id, one->instance_name, id, &state, err) <
        0)
        return -1;
    if (!*id || !sandbox_state_is_live(state))
        return 0;
    *again_ms = ASK_AGAIN_MS;
    if (state != SANDBOX_READY) /* an operation is under way and will set the state */
        return 0;
    struct verdict verdict = {
        .id = id,
        .reason = looped(monitor, one->instance_name) ? STOPPED_REBOOTING : STOPPED_ENDED,
        .host_id = monitor->host_id,
        .runtime = monitor->runtime,
        .status = RUNTIME_ABSENT,
        .late_ms = (int64_t)worker->settings->metrics_interval_s * SAMPLES_MISSED * 1000,
        .alive_ms = one->alive_ms,
    };
    if (find_verdict(worker->db, &verdict, err) < 0)
        return -1;
    if (verdict.ended)
        log_end(monitor, id, one->instance_name, verdict.loss);
    if (verdict.status != RUNTIME_OTHER && !verdict.is_old)
        *again_ms = 0;
    return 0;
}

/* --- candidates --- */

static void add_candidate(struct host_monitor *monitor, const char *instance_name, unsigned in_ms)
{
    int64_t now_ms = clock_monotonic_ms();
    struct candidate *place = NULL;
    for (size_t i = 0; i < monitor->candidate_count && !place; i++)
        if (!strcmp(monitor->candidates[i].instance_name, instance_name))
            place = &monitor->candidates[i];
    if (!place) {
        if (monitor->candidate_count == CANDIDATES_MAX)
            return;
        place = &monitor->candidates[monitor->candidate_count++];
        snprintf(place->instance_name, sizeof place->instance_name, "%s", instance_name);
        place->due_ms = now_ms + in_ms;
        place->give_up_ms = place->due_ms + ASK_MOST_MS;
        place->alive_ms = monitor->listed_ms;
    } else if (now_ms + in_ms < place->due_ms) {
        place->due_ms = now_ms + in_ms;
    }
}

static void drop_candidate(struct host_monitor *monitor, size_t i)
{
    monitor->candidates[i] = monitor->candidates[--monitor->candidate_count];
}

static void check_candidates(struct host_monitor *monitor)
{
    for (size_t i = monitor->candidate_count; i-- > 0 && !host_pulse_is_in_doubt(monitor->pulse);) {
        struct candidate *one = &monitor->candidates[i];
        error_auto err = NULL;
        unsigned again_ms = 0;
        if (!monitor->runtime || clock_monotonic_ms() < one->due_ms)
            continue;
        /* After a failure of the host or the database, the next listing finds the instance. */
        if (check(monitor, one, &again_ms, &err) < 0) {
            host_pulse_note(monitor->pulse, false);
            log_warning("cannot inspect an instance that ended; trying again",
                        LOG_STR("instance", one->instance_name), LOG_ERROR(err));
        }
        one->due_ms = clock_monotonic_ms() + again_ms;
        if (!again_ms || one->due_ms > one->give_up_ms)
            drop_candidate(monitor, i);
    }
}

/* --- events --- */

static void say_again_that_it_is_heard(struct host_monitor *monitor)
{
    if (monitor->hears && clock_monotonic_ms() - monitor->said_ms >= SAY_AGAIN_MS)
        mark_heard(monitor, true);
}

static void events_end(struct host_monitor *monitor, const struct error *reason)
{
    int64_t now_ms = clock_monotonic_ms();
    if (monitor->hears)
        log_warning("the event stream of a host is down; listing its instances every second",
                    LOG_INT("host", monitor->host_id), LOG_ERROR(reason));
    if (monitor->hears || monitor->list_at_ms > now_ms + POLL_MS)
        monitor->list_at_ms = now_ms;
    unsigned longer_ms = monitor->back_off_ms ? monitor->back_off_ms * 2 : BACK_OFF_MIN_MS;
    monitor->back_off_ms = longer_ms < BACK_OFF_MAX_MS ? longer_ms : BACK_OFF_MAX_MS;
    monitor->listen_at_ms = now_ms + monitor->back_off_ms;
    if (monitor->hears)
        mark_heard(monitor, false);
}

/* Handle the reboot of an instance. Its sandbox still runs, so it is no longer a candidate. If a
 * check stopped the sandbox while the instance was down, the instance must stop too. */
static void take_restart(struct host_monitor *monitor, const char *instance_name)
{
    error_auto err = NULL;
    for (size_t i = monitor->candidate_count; i-- > 0;)
        if (!strcmp(monitor->candidates[i].instance_name, instance_name))
            drop_candidate(monitor, i);
    count_reboot(monitor, instance_name);
    monitor->restarted(instance_name);
    if (sandbox_stop_unexpected(monitor->worker, monitor->host_id, monitor->runtime, instance_name,
                                &err) < 0)
        log_warning("cannot stop the running instance of a paused sandbox; trying again",
                    LOG_STR("instance", instance_name), LOG_ERROR(err));
}

static void take_event(struct host_monitor *monitor, const struct runtime_event *event)
{
    switch (event->kind) {
    case RUNTIME_EVENT_BEGIN:
        log_info("the event stream of a host is up", LOG_INT("host", monitor->host_id));
        monitor->back_off_ms = 0;
        monitor->list_at_ms = clock_monotonic_ms();
        mark_heard(monitor, true);
        break;
    case RUNTIME_EVENT_ENDED:
        add_candidate(monitor, event->instance, 0);
        break;
    case RUNTIME_EVENT_RESTARTED:
        take_restart(monitor, event->instance);
        break;
    case RUNTIME_EVENT_NONE:
        break;
    }
}

/* Wait for the first event and take all that have arrived. */
static void listen_to_host(struct host_monitor *monitor, unsigned wait_ms)
{
    struct runtime_event event = {.kind = RUNTIME_EVENT_NONE};
    if (!monitor->runtime || clock_monotonic_ms() < monitor->listen_at_ms) {
        clock_sleep_ms(wait_ms);
        return;
    }
    do {
        error_auto err = NULL;
        if (monitor->runtime->ops->event->listen(monitor->runtime, wait_ms, &event, &err) < 0) {
            events_end(monitor, err);
            return;
        }
        take_event(monitor, &event);
        wait_ms = 0;
    } while (event.kind != RUNTIME_EVENT_NONE && monitor->candidate_count < CANDIDATES_MAX);
}

/* --- the listing --- */

static bool is_down(const struct runtime_listing *list, size_t count, const char *instance_name,
                    enum runtime_status *status)
{
    const struct runtime_listing *found = runtime_listing_find(list, count, instance_name);
    *status = found ? found->status : RUNTIME_ABSENT;
    return runtime_is_down(*status);
}

static int compare(struct host_monitor *monitor, const struct runtime_listing *list, size_t count,
                   struct error **err)
{
    autofree struct sandbox_ready *ready = NULL;
    size_t ready_count;
    if (sandbox_row_ready_on_host(monitor->worker->db, monitor->host_id, &ready, &ready_count,
                                  err) < 0)
        return -1;
    for (size_t i = 0; i < ready_count; i++) {
        enum runtime_status status;
        if (is_down(list, count, ready[i].instance_name, &status))
            add_candidate(monitor, ready[i].instance_name,
                          status == RUNTIME_STOPPED ? REBOOT_MS : 0);
    }
    return 0;
}

/* Dismiss all warm instances that have ended, for example after the host's reboot: each create
 * would try one first. The caller reads the warm instances before the listing, so that the listing
 * contains each one that exists. */
static int dismiss_dead(struct host_monitor *monitor, const struct warm_ready *waiting,
                        size_t waiting_count, const struct runtime_listing *list, size_t count,
                        struct error **err)
{
    unsigned dead = 0;
    for (size_t i = 0; i < waiting_count; i++) {
        enum runtime_status status;
        if (!is_down(list, count, waiting[i].instance_name, &status))
            continue;
        if (warm_dismiss(monitor->worker->db, waiting[i].instance_name, err) < 0)
            return -1;
        dead++;
    }
    if (dead)
        log_info("warm instances of a host have ended", LOG_INT("host", monitor->host_id),
                 LOG_INT("count", dead));
    return 0;
}

static int list_host(struct host_monitor *monitor, struct error **err)
{
    struct worker *worker = monitor->worker;
    struct runtime *runtime;
    struct runtime_listing *list = NULL;
    autofree struct warm_ready *waiting = NULL;
    size_t count = 0, waiting_count;
    if (runtimes_get(worker->runtimes, worker->db, monitor->host_id, &runtime, err) < 0 ||
        warm_ready_on_host(worker->db, monitor->host_id, &waiting, &waiting_count, err) < 0)
        return -1;
    monitor->runtime = runtime;
    runtime_limit(runtime, PATIENCE_MS);
    int64_t listed_ms = clock_now_ms();
    int result = runtime->ops->list(runtime, &list, &count, err);
    runtime_limit(runtime, 0);
    if (result == 0)
        result = compare(monitor, list, count, err);
    if (result == 0 && monitor->candidate_count < CANDIDATES_MAX)
        monitor->listed_ms = listed_ms;
    if (result == 0)
        result = dismiss_dead(monitor, waiting, waiting_count, list, count, err);
    runtime_listing_free(list, count);
    return result;
}

/* List the host when it is due. Its failure is not logged here: sandbox_sweep() logs it often
 * enough. */
static void list_when_due(struct host_monitor *monitor)
{
    error_auto ignored = NULL;
    int64_t begun_ms = clock_monotonic_ms();
    if (begun_ms < monitor->list_at_ms)
        return;
    host_pulse_note(monitor->pulse, list_host(monitor, &ignored) == 0);
    int64_t ended_ms = clock_monotonic_ms(), rest_ms = SWEEP_SHARE * (ended_ms - begun_ms);
    if (!monitor->hears)
        rest_ms = POLL_MS;
    else if (rest_ms < SWEEP_MS)
        rest_ms = SWEEP_MS;
    monitor->list_at_ms = ended_ms + (rest_ms < SWEEP_MOST_MS ? rest_ms : SWEEP_MOST_MS);
    if (monitor->hears) /* the database connection may be a new one */
        mark_heard(monitor, true);
}

/* --- the storage pool and the memory --- */

static int record_pool(struct host_monitor *monitor, uint64_t total_mb, uint64_t used_mb,
                       struct error **err)
{
    int64_t now_ms = clock_monotonic_ms();
    if (total_mb == monitor->pool_total_mb && used_mb == monitor->pool_used_mb &&
        now_ms < monitor->pool_record_at_ms)
        return 0;
    if (host_pool_put(monitor->worker->db, monitor->host_id, total_mb, used_mb, err) < 0)
        return -1;
    monitor->pool_total_mb = total_mb;
    monitor->pool_used_mb = used_mb;
    monitor->pool_record_at_ms = now_ms + POOL_SAME_MS;
    return 0;
}

/* Record how full the storage pool is: the choice of a host for new objects depends on it. */
static void measure_pool(struct host_monitor *monitor)
{
    error_auto err = NULL;
    uint64_t total, used;
    runtime_limit(monitor->runtime, PATIENCE_MS);
    int result = monitor->runtime->ops->measure->pool(monitor->runtime, &total, &used, &err);
    runtime_limit(monitor->runtime, 0);
    host_pulse_note(monitor->pulse, result == 0);
    if (result == 0)
        result = record_pool(monitor, total >> 20, used >> 20, &err);
    if (result < 0)
        log_warning("cannot measure the storage pool of a host; trying again",
                    LOG_INT("host", monitor->host_id), LOG_ERROR(err));
}

/* Return whether the memory is low: below the kept share, or below 1.25 times it while it was low
 * before. */
static bool is_low(const struct host_monitor *monitor, const struct firewall_host *host)
{
    unsigned percent = (unsigned)monitor->worker->settings->host_memory_kept_percent;
    uint64_t kept = host->memory_bytes / 100 * percent;
    return host->memory_available_bytes < (monitor->memory_low ? kept + kept / 4 : kept);
}

static int note_memory(struct host_monitor *monitor, const struct firewall_host *host,
                       struct error **err)
{
    bool changed, low = is_low(monitor, host);
    if (monitor->memory_noted && low == monitor->memory_low)
        return 0;
    monitor->memory_low = low;
    if (host_set_memory_low(monitor->worker->db, monitor->host_id, monitor->memory_low, &changed,
                            err) < 0)
        return -1;
    monitor->memory_noted = true;
    if (changed)
        log_warning(monitor->memory_low ? "a host has little memory left and takes no new sandboxes"
                                        : "a host has memory again and takes new sandboxes",
                    LOG_INT("host", monitor->host_id),
                    LOG_INT("total_mb", (int64_t)(host->memory_bytes >> 20)),
                    LOG_INT("available_mb", (int64_t)(host->memory_available_bytes >> 20)));
    return 0;
}

static int note_processors(struct host_monitor *monitor, const struct firewall_host *host,
                           struct error **err)
{
    if (monitor->processors == host->processors)
        return 0;
    if (host_set_processors(monitor->worker->db, monitor->host_id, host->processors, err) < 0)
        return -1;
    monitor->processors = host->processors;
    return 0;
}

/* Measure the memory of a host with a firewall. Sandboxes on a host without one have no network. */
static void measure_memory(struct host_monitor *monitor)
{
    error_auto err = NULL;
    struct firewall_host host;
    struct firewall *firewall = runtimes_firewall(monitor->worker->runtimes, monitor->host_id);
    if (!firewall || clock_monotonic_ms() < monitor->memory_at_ms)
        return;
    if (firewall_host(firewall, &host, &err) == 0 && note_memory(monitor, &host, &err) == 0 &&
        note_processors(monitor, &host, &err) == 0)
        return;
    log_warning("cannot measure the memory of a host; trying again",
                LOG_INT("host", monitor->host_id), LOG_ERROR(err));
    monitor->memory_at_ms = clock_monotonic_ms() + MEASURE_AGAIN_MS;
}

/* Measure the host. The cost does not depend on the number of instances. */
static void measure_when_due(struct host_monitor *monitor)
{
    if (!monitor->runtime || clock_monotonic_ms() < monitor->measure_at_ms)
        return;
    measure_pool(monitor);
    if (!host_pulse_is_in_doubt(monitor->pulse))
        measure_memory(monitor);
    monitor->measure_at_ms = clock_monotonic_ms() + MEASURE_MS;
}

/* --- a host that does not answer --- */

/* Open the runtime. When the database is away, the previous one stays. */
static void open_runtime(struct host_monitor *monitor)
{
    struct worker *worker = monitor->worker;
    error_auto ignored = NULL;
    runtimes_get(worker->runtimes, worker->db, monitor->host_id, &monitor->runtime, &ignored);
}

/* Ask a host that does not answer. The monitor does nothing else until it answers, so that each
 * question is on time. */
static void look_again(struct host_monitor *monitor)
{
    bool back;
    open_runtime(monitor);
    host_pulse_look(monitor->pulse, monitor->runtime, &back);
    if (host_pulse_is_in_doubt(monitor->pulse))
        clock_sleep_ms(LOOK_AGAIN_MS);
    if (!back)
        return;
    monitor->back_off_ms = 0;
    monitor->listen_at_ms = monitor->list_at_ms = clock_monotonic_ms();
}

/* --- one turn --- */

static void earlier(int64_t *at_ms, int64_t other_ms)
{
    if (other_ms < *at_ms)
        *at_ms = other_ms;
}

void host_monitor_turn(struct host_monitor *monitor)
{
    if (host_pulse_is_in_doubt(monitor->pulse)) {
        look_again(monitor);
        return;
    }
    int64_t now_ms = clock_monotonic_ms(), wake_ms = now_ms + TURN_MOST_MS;
    earlier(&wake_ms, monitor->list_at_ms);
    if (monitor->runtime)
        earlier(&wake_ms, monitor->measure_at_ms);
    if (now_ms < monitor->listen_at_ms)
        earlier(&wake_ms, monitor->listen_at_ms);
    for (size_t i = 0; i < monitor->candidate_count; i++)
        earlier(&wake_ms, monitor->candidates[i].due_ms);
    listen_to_host(monitor, wake_ms > now_ms ? (unsigned)(wake_ms - now_ms) : 0);
    say_again_that_it_is_heard(monitor);
    check_candidates(monitor);
    list_when_due(monitor);
    if (!host_pulse_is_in_doubt(monitor->pulse))
        measure_when_due(monitor);
}
