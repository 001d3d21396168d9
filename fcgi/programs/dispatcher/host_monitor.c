/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "dispatcher/host_monitor.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "dispatcher/sandbox_sweep.h"
#include "host/host.h"
#include "sandbox/lifecycle_steps.h"
#include "sandbox/sandbox_row.h"

enum {
    TURN_MOST_MS = 500,
    /* Between two listings, without and with news. A listing costs the daemon 0.35 ms of processor
     * time for each instance. */
    POLL_MS = 1000,
    SWEEP_MS = 5000,
    SWEEP_MOST_MS = 60000,
    SWEEP_SHARE = 50, /* a listing takes at most the fiftieth part of the time between them */
    MEASURE_MS = 2000,
    /* Longer than a guest is down while it reboots; with POLL_MS inside two seconds. */
    REBOOT_MS = 800,
    /* Incus is at work on it: ask again. */
    ASK_AGAIN_MS = 100,
    ASK_MOST_MS = 30000,
    PATIENCE_MS = 1500,
    BACK_OFF_MIN_MS = 500,
    BACK_OFF_MAX_MS = 8000,
    /* More are found by the next listing. */
    SUSPECTS_MAX = 1024,
    /* Reboots of one instance that are told as the reason of its end: so many with no more than so
     * long between them. Its host slows them down and ends them (conf/incus/incusd-exec). */
    REBOOTS_MANY = 3,
    REBOOTS_APART_MS = 90000,
    REBOOTING_MAX = 256,
};

/* An instance that is said, or seen, to be down. */
struct suspect {
    char instance_name[INSTANCE_NAME_SIZE];
    int64_t due_ms, give_up_ms; /* monotonic */
};

/* An instance that started itself anew. */
struct rebooting {
    char instance_name[INSTANCE_NAME_SIZE];
    unsigned times;
    int64_t last_ms; /* monotonic */
};

struct host_monitor {
    struct worker *worker;
    uint32_t host_id;
    void (*restarted)(const char *instance_name);
    struct runtime *runtime; /* NULL before the first listing */
    struct suspect suspects[SUSPECTS_MAX];
    size_t suspect_count;
    struct rebooting rebooting[REBOOTING_MAX]; /* the oldest makes room */
    bool hears;                                /* nothing that ends is missed */
    unsigned back_off_ms;
    int64_t listen_at_ms, list_at_ms, measure_at_ms; /* monotonic */
};

struct host_monitor *host_monitor_new(struct worker *worker, uint32_t host_id,
                                      void (*restarted)(const char *instance_name))
{
    struct host_monitor *monitor = xcalloc(1, sizeof *monitor);
    monitor->worker = worker;
    monitor->host_id = host_id;
    monitor->restarted = restarted;
    return monitor;
}

void host_monitor_free(struct host_monitor *monitor)
{
    free(monitor);
}

/* --- reboots --- */

static struct rebooting *rebooting_of(struct host_monitor *monitor, const char *instance_name)
{
    struct rebooting *oldest = &monitor->rebooting[0];
    for (size_t i = 0; i < REBOOTING_MAX; i++) {
        if (!strcmp(monitor->rebooting[i].instance_name, instance_name))
            return &monitor->rebooting[i];
        if (monitor->rebooting[i].last_ms < oldest->last_ms)
            oldest = &monitor->rebooting[i];
    }
    *oldest = (struct rebooting){0};
    snprintf(oldest->instance_name, sizeof oldest->instance_name, "%s", instance_name);
    return oldest;
}

static void count_reboot(struct host_monitor *monitor, const char *instance_name)
{
    struct rebooting *one = rebooting_of(monitor, instance_name);
    int64_t now_ms = clock_monotonic_ms();
    one->times = now_ms - one->last_ms > REBOOTS_APART_MS ? 1 : one->times + 1;
    one->last_ms = now_ms;
}

static void log_end(struct host_monitor *monitor, const char *id, const char *instance_name)
{
    const struct rebooting *one = rebooting_of(monitor, instance_name);
    bool looped =
        one->times >= REBOOTS_MANY && clock_monotonic_ms() - one->last_ms <= REBOOTS_APART_MS;
    if (looped)
        log_warning("sandbox was stopped because it rebooted again and again",
                    LOG_STR("sandbox", id), LOG_INT("reboots", one->times));
    else
        log_warning("sandbox went down by itself", LOG_STR("sandbox", id));
}

/* --- judging one instance --- */

/* With its row locked nobody can begin a move of the sandbox, so what the runtime says now holds.
 */
struct verdict {
    const char *id;
    struct runtime *runtime;
    enum runtime_status status;
    bool ended;
};

static int verdict_body(struct db *db, void *context, struct error **err)
{
    struct verdict *verdict = context;
    sandbox_auto sandbox = {0};
    verdict->ended = false;
    verdict->status = RUNTIME_ABSENT;
    if (sandbox_get_any(db, verdict->id, true, &sandbox, err) < 0)
        return -1;
    if (sandbox.state != SANDBOX_READY)
        return 0;
    if (verdict->runtime->ops->inspect(verdict->runtime, sandbox.instance_name, &verdict->status,
                                       err) < 0)
        return -1;
    if (!runtime_is_down(verdict->status))
        return 0;
    if (sandbox_state_next(sandbox.state, SANDBOX_EVENT_DIED, &sandbox.state, err) < 0)
        return -1;
    sandbox.incarnation++;
    sandbox_apply_event(&sandbox, SANDBOX_EVENT_DIED);
    verdict->ended = true;
    if (sandbox_row_update(db, &sandbox, err) < 0)
        return -1;
    return sandbox_usage_follow(db, &sandbox, err);
}

/* Returns after how many milliseconds to ask again; 0: the case is closed. */
static int judge(struct host_monitor *monitor, const char *instance_name, unsigned *again_ms,
                 struct error **err)
{
    struct worker *worker = monitor->worker;
    char id[ID_SIZE];
    enum sandbox_state state = SANDBOX_DESTROYED;
    *again_ms = 0;
    if (sandbox_row_of_instance(worker->db, instance_name, id, &state, err) < 0)
        return -1;
    if (!*id || !sandbox_state_is_live(state))
        return 0;
    *again_ms = ASK_AGAIN_MS;
    if (state != SANDBOX_READY) /* a move is under way: ours, or one that will come upon it */
        return 0;
    struct verdict verdict = {.id = id, .runtime = monitor->runtime};
    runtime_limit(monitor->runtime, PATIENCE_MS);
    int result = db_transaction(worker->db, verdict_body, &verdict, err);
    runtime_limit(monitor->runtime, 0);
    if (result < 0)
        return -1;
    if (verdict.ended)
        log_end(monitor, id, instance_name);
    if (verdict.status != RUNTIME_OTHER)
        *again_ms = 0;
    return 0;
}

/* --- suspects --- */

static void suspect(struct host_monitor *monitor, const char *instance_name, unsigned in_ms)
{
    int64_t now_ms = clock_monotonic_ms();
    struct suspect *place = NULL;
    for (size_t i = 0; i < monitor->suspect_count && !place; i++)
        if (!strcmp(monitor->suspects[i].instance_name, instance_name))
            place = &monitor->suspects[i];
    if (!place) {
        if (monitor->suspect_count == SUSPECTS_MAX)
            return;
        place = &monitor->suspects[monitor->suspect_count++];
        snprintf(place->instance_name, sizeof place->instance_name, "%s", instance_name);
        place->due_ms = now_ms + in_ms;
        place->give_up_ms = place->due_ms + ASK_MOST_MS;
    } else if (now_ms + in_ms < place->due_ms) {
        place->due_ms = now_ms + in_ms;
    }
}

static void acquit(struct host_monitor *monitor, size_t i)
{
    monitor->suspects[i] = monitor->suspects[--monitor->suspect_count];
}

static void judge_suspects(struct host_monitor *monitor)
{
    for (size_t i = monitor->suspect_count; i-- > 0;) {
        struct suspect *one = &monitor->suspects[i];
        error_auto err = NULL;
        unsigned again_ms = 0;
        if (!monitor->runtime || clock_monotonic_ms() < one->due_ms)
            continue;
        /* Of a host or a database that is away the next listing tells the truth. */
        if (judge(monitor, one->instance_name, &again_ms, &err) < 0)
            log_warning("cannot inspect an instance that ended",
                        LOG_STR("instance", one->instance_name), LOG_ERROR(err));
        one->due_ms = clock_monotonic_ms() + again_ms;
        if (!again_ms || one->due_ms > one->give_up_ms)
            acquit(monitor, i);
    }
}

/* --- news --- */

static void mark_heard(struct host_monitor *monitor, bool heard)
{
    error_auto err = NULL;
    monitor->hears = heard;
    if (host_mark_heard(monitor->worker->db, monitor->host_id, heard, &err) < 0)
        log_warning("cannot record the state of a host's event stream", LOG_ERROR(err));
}

static void news_end(struct host_monitor *monitor, const struct error *reason)
{
    int64_t now_ms = clock_monotonic_ms();
    if (monitor->hears)
        log_warning("event stream of a host is down, listing its instances every second",
                    LOG_INT("host", monitor->host_id), LOG_ERROR(reason));
    if (monitor->hears || monitor->list_at_ms > now_ms + POLL_MS)
        monitor->list_at_ms = now_ms;
    unsigned longer_ms = monitor->back_off_ms ? monitor->back_off_ms * 2 : BACK_OFF_MIN_MS;
    monitor->back_off_ms = longer_ms < BACK_OFF_MAX_MS ? longer_ms : BACK_OFF_MAX_MS;
    monitor->listen_at_ms = now_ms + monitor->back_off_ms;
    if (monitor->hears)
        mark_heard(monitor, false);
}

/* An instance that has started anew is up again, and its sandbox as well; one that was judged while
 * it was down stays stopped, and must not run beside its record. */
static void take_restart(struct host_monitor *monitor, const char *instance_name)
{
    error_auto err = NULL;
    for (size_t i = monitor->suspect_count; i-- > 0;)
        if (!strcmp(monitor->suspects[i].instance_name, instance_name))
            acquit(monitor, i);
    count_reboot(monitor, instance_name);
    monitor->restarted(instance_name);
    if (sandbox_stop_risen(monitor->worker, monitor->runtime, instance_name, &err) < 0)
        log_warning("instance of a stopped sandbox runs", LOG_STR("instance", instance_name),
                    LOG_ERROR(err));
}

static void take_news(struct host_monitor *monitor, const struct runtime_news *news)
{
    switch (news->kind) {
    case RUNTIME_NEWS_BEGIN:
        log_info("event stream of a host is up", LOG_INT("host", monitor->host_id));
        monitor->back_off_ms = 0;
        monitor->list_at_ms = clock_monotonic_ms();
        mark_heard(monitor, true);
        break;
    case RUNTIME_NEWS_ENDED:
        suspect(monitor, news->instance, 0);
        break;
    case RUNTIME_NEWS_RESTARTED:
        take_restart(monitor, news->instance);
        break;
    case RUNTIME_NEWS_NONE:
        break;
    }
}

/* Wait for the first news and take all that have come. */
static void listen_to_host(struct host_monitor *monitor, unsigned wait_ms)
{
    struct runtime_news news = {.kind = RUNTIME_NEWS_NONE};
    if (!monitor->runtime || clock_monotonic_ms() < monitor->listen_at_ms) {
        clock_sleep_ms(wait_ms);
        return;
    }
    do {
        error_auto err = NULL;
        if (monitor->runtime->ops->listen(monitor->runtime, wait_ms, &news, &err) < 0) {
            news_end(monitor, err);
            return;
        }
        take_news(monitor, &news);
        wait_ms = 0;
    } while (news.kind != RUNTIME_NEWS_NONE && monitor->suspect_count < SUSPECTS_MAX);
}

/* --- the listing --- */

static int compare(struct host_monitor *monitor, const struct runtime_listing *list, size_t count,
                   struct error **err)
{
    autofree struct sandbox_ready *ready = NULL;
    size_t ready_count;
    if (sandbox_row_ready_on_host(monitor->worker->db, monitor->host_id, &ready, &ready_count,
                                  err) < 0)
        return -1;
    for (size_t i = 0; i < ready_count; i++) {
        const struct runtime_listing *found =
            runtime_listing_find(list, count, ready[i].instance_name);
        enum runtime_status status = found ? found->status : RUNTIME_ABSENT;
        if (runtime_is_down(status))
            suspect(monitor, ready[i].instance_name, status == RUNTIME_STOPPED ? REBOOT_MS : 0);
    }
    return 0;
}

static int list_host(struct host_monitor *monitor, struct error **err)
{
    struct worker *worker = monitor->worker;
    struct runtime *runtime;
    struct runtime_listing *list = NULL;
    size_t count = 0;
    if (runtimes_get(worker->runtimes, worker->db, monitor->host_id, &runtime, err) < 0)
        return -1;
    monitor->runtime = runtime;
    runtime_limit(runtime, PATIENCE_MS);
    int result = runtime->ops->list(runtime, &list, &count, err);
    runtime_limit(runtime, 0);
    if (result == 0)
        result = compare(monitor, list, count, err);
    runtime_listing_free(list, count);
    return result;
}

/* What keeps it from being listed is said by the sweep, often enough. */
static void list_when_due(struct host_monitor *monitor)
{
    error_auto ignored = NULL;
    int64_t begun_ms = clock_monotonic_ms();
    if (begun_ms < monitor->list_at_ms)
        return;
    list_host(monitor, &ignored);
    int64_t ended_ms = clock_monotonic_ms(), rest_ms = SWEEP_SHARE * (ended_ms - begun_ms);
    if (!monitor->hears)
        rest_ms = POLL_MS;
    else if (rest_ms < SWEEP_MS)
        rest_ms = SWEEP_MS;
    monitor->list_at_ms = ended_ms + (rest_ms < SWEEP_MOST_MS ? rest_ms : SWEEP_MOST_MS);
    if (monitor->hears) /* on a database connection that may be a new one */
        mark_heard(monitor, true);
}

/* --- the pool --- */

/* How full the pool is decides about what is new on the host. */
static void measure_pool(struct host_monitor *monitor)
{
    error_auto err = NULL;
    uint64_t total, used;
    runtime_limit(monitor->runtime, PATIENCE_MS);
    int result = monitor->runtime->ops->measure_pool(monitor->runtime, &total, &used, &err);
    runtime_limit(monitor->runtime, 0);
    if (result == 0)
        result =
            host_pool_put(monitor->worker->db, monitor->host_id, total >> 20, used >> 20, &err);
    if (result < 0)
        log_warning("pool of a host cannot be measured", LOG_INT("host", monitor->host_id),
                    LOG_ERROR(err));
}

/* One call without work for the daemon, however many instances there are. */
static void measure_when_due(struct host_monitor *monitor)
{
    if (!monitor->runtime || clock_monotonic_ms() < monitor->measure_at_ms)
        return;
    measure_pool(monitor);
    monitor->measure_at_ms = clock_monotonic_ms() + MEASURE_MS;
}

/* --- one turn --- */

static void earlier(int64_t *at_ms, int64_t other_ms)
{
    if (other_ms < *at_ms)
        *at_ms = other_ms;
}

void host_monitor_turn(struct host_monitor *monitor)
{
    int64_t now_ms = clock_monotonic_ms(), wake_ms = now_ms + TURN_MOST_MS;
    earlier(&wake_ms, monitor->list_at_ms);
    if (monitor->runtime)
        earlier(&wake_ms, monitor->measure_at_ms);
    if (now_ms < monitor->listen_at_ms)
        earlier(&wake_ms, monitor->listen_at_ms);
    for (size_t i = 0; i < monitor->suspect_count; i++)
        earlier(&wake_ms, monitor->suspects[i].due_ms);
    listen_to_host(monitor, wake_ms > now_ms ? (unsigned)(wake_ms - now_ms) : 0);
    judge_suspects(monitor);
    list_when_due(monitor);
    measure_when_due(monitor);
}
