/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "dispatcher/host_watch.h"

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

struct host_watch {
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

struct host_watch *host_watch_new(struct worker *worker, uint32_t host_id,
                                  void (*restarted)(const char *instance_name))
{
    struct host_watch *watch = xcalloc(1, sizeof *watch);
    watch->worker = worker;
    watch->host_id = host_id;
    watch->restarted = restarted;
    return watch;
}

void host_watch_free(struct host_watch *watch)
{
    free(watch);
}

/* --- reboots --- */

static struct rebooting *rebooting_of(struct host_watch *watch, const char *instance_name)
{
    struct rebooting *oldest = &watch->rebooting[0];
    for (size_t i = 0; i < REBOOTING_MAX; i++) {
        if (!strcmp(watch->rebooting[i].instance_name, instance_name))
            return &watch->rebooting[i];
        if (watch->rebooting[i].last_ms < oldest->last_ms)
            oldest = &watch->rebooting[i];
    }
    *oldest = (struct rebooting){0};
    snprintf(oldest->instance_name, sizeof oldest->instance_name, "%s", instance_name);
    return oldest;
}

static void count_reboot(struct host_watch *watch, const char *instance_name)
{
    struct rebooting *one = rebooting_of(watch, instance_name);
    int64_t now_ms = clock_monotonic_ms();
    one->times = now_ms - one->last_ms > REBOOTS_APART_MS ? 1 : one->times + 1;
    one->last_ms = now_ms;
}

static void log_end(struct host_watch *watch, const char *id, const char *instance_name)
{
    const struct rebooting *one = rebooting_of(watch, instance_name);
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
static int judge(struct host_watch *watch, const char *instance_name, unsigned *again_ms,
                 struct error **err)
{
    struct worker *worker = watch->worker;
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
    struct verdict verdict = {.id = id, .runtime = watch->runtime};
    runtime_limit(watch->runtime, PATIENCE_MS);
    int result = db_transaction(worker->db, verdict_body, &verdict, err);
    runtime_limit(watch->runtime, 0);
    if (result < 0)
        return -1;
    if (verdict.ended)
        log_end(watch, id, instance_name);
    if (verdict.status != RUNTIME_OTHER)
        *again_ms = 0;
    return 0;
}

/* --- suspects --- */

static void suspect(struct host_watch *watch, const char *instance_name, unsigned in_ms)
{
    int64_t now_ms = clock_monotonic_ms();
    struct suspect *place = NULL;
    for (size_t i = 0; i < watch->suspect_count && !place; i++)
        if (!strcmp(watch->suspects[i].instance_name, instance_name))
            place = &watch->suspects[i];
    if (!place) {
        if (watch->suspect_count == SUSPECTS_MAX)
            return;
        place = &watch->suspects[watch->suspect_count++];
        snprintf(place->instance_name, sizeof place->instance_name, "%s", instance_name);
        place->due_ms = now_ms + in_ms;
        place->give_up_ms = place->due_ms + ASK_MOST_MS;
    } else if (now_ms + in_ms < place->due_ms) {
        place->due_ms = now_ms + in_ms;
    }
}

static void acquit(struct host_watch *watch, size_t i)
{
    watch->suspects[i] = watch->suspects[--watch->suspect_count];
}

static void judge_suspects(struct host_watch *watch)
{
    for (size_t i = watch->suspect_count; i-- > 0;) {
        struct suspect *one = &watch->suspects[i];
        error_auto err = NULL;
        unsigned again_ms = 0;
        if (!watch->runtime || clock_monotonic_ms() < one->due_ms)
            continue;
        /* Of a host or a database that is away the next listing tells the truth. */
        if (judge(watch, one->instance_name, &again_ms, &err) < 0)
            log_warning("cannot inspect an instance that ended",
                        LOG_STR("instance", one->instance_name), LOG_ERROR(err));
        one->due_ms = clock_monotonic_ms() + again_ms;
        if (!again_ms || one->due_ms > one->give_up_ms)
            acquit(watch, i);
    }
}

/* --- news --- */

static void mark_heard(struct host_watch *watch, bool heard)
{
    error_auto err = NULL;
    watch->hears = heard;
    if (host_mark_heard(watch->worker->db, watch->host_id, heard, &err) < 0)
        log_warning("cannot record the state of a host's event stream", LOG_ERROR(err));
}

static void news_end(struct host_watch *watch, const struct error *reason)
{
    int64_t now_ms = clock_monotonic_ms();
    if (watch->hears)
        log_warning("event stream of a host is down, listing its instances every second",
                    LOG_INT("host", watch->host_id), LOG_ERROR(reason));
    if (watch->hears || watch->list_at_ms > now_ms + POLL_MS)
        watch->list_at_ms = now_ms;
    unsigned longer_ms = watch->back_off_ms ? watch->back_off_ms * 2 : BACK_OFF_MIN_MS;
    watch->back_off_ms = longer_ms < BACK_OFF_MAX_MS ? longer_ms : BACK_OFF_MAX_MS;
    watch->listen_at_ms = now_ms + watch->back_off_ms;
    if (watch->hears)
        mark_heard(watch, false);
}

/* An instance that has started anew is up again, and its sandbox as well; one that was judged while
 * it was down stays stopped, and must not run beside its record. */
static void take_restart(struct host_watch *watch, const char *instance_name)
{
    error_auto err = NULL;
    for (size_t i = watch->suspect_count; i-- > 0;)
        if (!strcmp(watch->suspects[i].instance_name, instance_name))
            acquit(watch, i);
    count_reboot(watch, instance_name);
    watch->restarted(instance_name);
    if (sandbox_stop_risen(watch->worker, watch->runtime, instance_name, &err) < 0)
        log_warning("instance of a stopped sandbox runs", LOG_STR("instance", instance_name),
                    LOG_ERROR(err));
}

static void take_news(struct host_watch *watch, const struct runtime_news *news)
{
    switch (news->kind) {
    case RUNTIME_NEWS_BEGIN:
        log_info("event stream of a host is up", LOG_INT("host", watch->host_id));
        watch->back_off_ms = 0;
        watch->list_at_ms = clock_monotonic_ms();
        mark_heard(watch, true);
        break;
    case RUNTIME_NEWS_ENDED:
        suspect(watch, news->instance, 0);
        break;
    case RUNTIME_NEWS_RESTARTED:
        take_restart(watch, news->instance);
        break;
    case RUNTIME_NEWS_NONE:
        break;
    }
}

/* Wait for the first news and take all that have come. */
static void listen_to_host(struct host_watch *watch, unsigned wait_ms)
{
    struct runtime_news news = {.kind = RUNTIME_NEWS_NONE};
    if (!watch->runtime || clock_monotonic_ms() < watch->listen_at_ms) {
        clock_sleep_ms(wait_ms);
        return;
    }
    do {
        error_auto err = NULL;
        if (watch->runtime->ops->listen(watch->runtime, wait_ms, &news, &err) < 0) {
            news_end(watch, err);
            return;
        }
        take_news(watch, &news);
        wait_ms = 0;
    } while (news.kind != RUNTIME_NEWS_NONE && watch->suspect_count < SUSPECTS_MAX);
}

/* --- the listing --- */

static int compare(struct host_watch *watch, const struct runtime_listing *list, size_t count,
                   struct error **err)
{
    autofree struct sandbox_ready *ready = NULL;
    size_t ready_count;
    if (sandbox_row_ready_on_host(watch->worker->db, watch->host_id, &ready, &ready_count, err) < 0)
        return -1;
    for (size_t i = 0; i < ready_count; i++) {
        const struct runtime_listing *found =
            runtime_listing_find(list, count, ready[i].instance_name);
        enum runtime_status status = found ? found->status : RUNTIME_ABSENT;
        if (runtime_is_down(status))
            suspect(watch, ready[i].instance_name, status == RUNTIME_STOPPED ? REBOOT_MS : 0);
    }
    return 0;
}

static int list_host(struct host_watch *watch, struct error **err)
{
    struct worker *worker = watch->worker;
    struct runtime *runtime;
    struct runtime_listing *list = NULL;
    size_t count = 0;
    if (runtimes_get(worker->runtimes, worker->db, watch->host_id, &runtime, err) < 0)
        return -1;
    watch->runtime = runtime;
    runtime_limit(runtime, PATIENCE_MS);
    int result = runtime->ops->list(runtime, &list, &count, err);
    runtime_limit(runtime, 0);
    if (result == 0)
        result = compare(watch, list, count, err);
    runtime_listing_free(list, count);
    return result;
}

/* What keeps it from being listed is said by the sweep, often enough. */
static void list_when_due(struct host_watch *watch)
{
    error_auto ignored = NULL;
    int64_t begun_ms = clock_monotonic_ms();
    if (begun_ms < watch->list_at_ms)
        return;
    list_host(watch, &ignored);
    int64_t ended_ms = clock_monotonic_ms(), rest_ms = SWEEP_SHARE * (ended_ms - begun_ms);
    if (!watch->hears)
        rest_ms = POLL_MS;
    else if (rest_ms < SWEEP_MS)
        rest_ms = SWEEP_MS;
    watch->list_at_ms = ended_ms + (rest_ms < SWEEP_MOST_MS ? rest_ms : SWEEP_MOST_MS);
    if (watch->hears) /* on a database connection that may be a new one */
        mark_heard(watch, true);
}

/* --- the pool --- */

/* How full the pool is decides about what is new on the host. */
static void measure_pool(struct host_watch *watch)
{
    error_auto err = NULL;
    uint64_t total, used;
    runtime_limit(watch->runtime, PATIENCE_MS);
    int result = watch->runtime->ops->measure_pool(watch->runtime, &total, &used, &err);
    runtime_limit(watch->runtime, 0);
    if (result == 0)
        result = host_pool_put(watch->worker->db, watch->host_id, total >> 20, used >> 20, &err);
    if (result < 0)
        log_warning("pool of a host cannot be measured", LOG_INT("host", watch->host_id),
                    LOG_ERROR(err));
}

/* One call without work for the daemon, however many instances there are. */
static void measure_when_due(struct host_watch *watch)
{
    if (!watch->runtime || clock_monotonic_ms() < watch->measure_at_ms)
        return;
    measure_pool(watch);
    watch->measure_at_ms = clock_monotonic_ms() + MEASURE_MS;
}

/* --- one turn --- */

static void earlier(int64_t *at_ms, int64_t other_ms)
{
    if (other_ms < *at_ms)
        *at_ms = other_ms;
}

void host_watch_turn(struct host_watch *watch)
{
    int64_t now_ms = clock_monotonic_ms(), wake_ms = now_ms + TURN_MOST_MS;
    earlier(&wake_ms, watch->list_at_ms);
    if (watch->runtime)
        earlier(&wake_ms, watch->measure_at_ms);
    if (now_ms < watch->listen_at_ms)
        earlier(&wake_ms, watch->listen_at_ms);
    for (size_t i = 0; i < watch->suspect_count; i++)
        earlier(&wake_ms, watch->suspects[i].due_ms);
    listen_to_host(watch, wake_ms > now_ms ? (unsigned)(wake_ms - now_ms) : 0);
    judge_suspects(watch);
    list_when_due(watch);
    measure_when_due(watch);
}
