/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the dispatcher does about hosts: sandboxes that went down by themselves, and instances that
 * belong to nobody. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "host/host.h"
#include "sandbox/lifecycle_steps.h"
#include "sandbox/sandbox_row.h"
#include "sandbox/usage.h"
#include "sandbox/warm.h"

/* An instance on a host against the rows: is anybody still responsible for it? */
static int sweep_instance(struct sandbox_service *service, struct runtime *runtime,
                          const struct runtime_listing *instance, struct error **err)
{
    bool known;
    /* A younger one may belong to a row not seen yet, or to a create that undoes itself. */
    int64_t grace_ms = 2 * (int64_t)service->settings->lease_s * 1000;
    if (clock_now_ms() - instance->created_at_ms < grace_ms)
        return 0;
    if (warm_knows(service->db, instance->name, &known, err) < 0)
        return -1;
    if (known) /* one that waits must run to be of use */
        return instance->status == RUNTIME_RUNNING ? 0
                                                   : warm_dismiss(service->db, instance->name, err);
    if (sandbox_row_uses_instance(service->db, instance->name, &known, err) < 0 ||
        (!known && template_trial_knows(service, instance->name, &known, err) < 0))
        return -1;
    if (known)
        return 0;
    log_warning("removing an instance without a sandbox", LOG_STR("instance", instance->name));
    return runtime->ops->destroy(runtime, instance->name, err);
}

struct ending {
    const char *id;
    struct runtime *runtime;
    bool ended;
};

/* With the row locked nobody can begin a move, so what the runtime says now holds. */
static int ending_body(struct db *db, void *context, struct error **err)
{
    struct ending *ending = context;
    sandbox_auto sandbox = {0};
    enum runtime_status status;
    ending->ended = false;
    if (sandbox_get_any(db, ending->id, true, &sandbox, err) < 0)
        return -1;
    if (sandbox.state != SANDBOX_READY)
        return 0;
    if (ending->runtime->ops->inspect(ending->runtime, sandbox.instance_name, &status, err) < 0)
        return -1;
    if (status != RUNTIME_ABSENT && status != RUNTIME_STOPPED && status != RUNTIME_PAUSED)
        return 0;
    if (sandbox_state_next(sandbox.state, SANDBOX_EVENT_DIED, &sandbox.state, err) < 0)
        return -1;
    sandbox.incarnation++;
    sandbox_apply_event(&sandbox, SANDBOX_EVENT_DIED);
    ending->ended = true;
    if (sandbox_row_update(db, &sandbox, err) < 0)
        return -1;
    return usage_follow(db, &sandbox, err);
}

static bool runs(const struct runtime_listing *list, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (!strcmp(list[i].name, name))
            return list[i].status != RUNTIME_STOPPED && list[i].status != RUNTIME_PAUSED;
    return false;
}

/* Sandboxes whose instance went down by itself: someone inside switched it off, or its host was
 * started anew. They are stopped, and a resume starts them from their disk. */
static int sweep_ready(struct sandbox_service *service, uint32_t host_id, struct runtime *runtime,
                       const struct runtime_listing *list, size_t count, struct error **err)
{
    autofree struct sandbox_ready *ready = NULL;
    size_t ready_count;
    if (sandbox_row_ready_on_host(service->db, host_id, &ready, &ready_count, err) < 0)
        return -1;
    for (size_t i = 0; i < ready_count; i++) {
        struct ending ending = {ready[i].id, runtime, false};
        if (!runs(list, count, ready[i].instance_name) &&
            db_transaction(service->db, ending_body, &ending, err) < 0)
            return -1;
        if (ending.ended)
            log_warning("sandbox went down by itself", LOG_STR("sandbox", ready[i].id));
    }
    return 0;
}

/* --- hosts that do not answer --- */

/* For what runs on a host: a hanging one must not keep others from being looked at. */
#define WATCH_PATIENCE_MS 1500
#define SWEEP_PATIENCE_MS 15000
/* Before the watch tries one of several again that did not answer. */
#define WATCH_REST_MS 10000
#define RESTING_MAX   64

static int lose_patience(void *context, struct error **err)
{
    const int64_t *until_ms = context;
    if (clock_monotonic_ms() < *until_ms)
        return 0;
    return error_set(err, ERR_RUNTIME_UNAVAILABLE, "the host does not answer in time");
}

static int list_in_time(struct runtime *runtime, int64_t patience_ms, struct runtime_listing **list,
                        size_t *count, struct error **err)
{
    int64_t until_ms = clock_monotonic_ms() + patience_ms;
    runtime->tick = lose_patience;
    runtime->tick_context = &until_ms;
    int result = runtime->ops->list(runtime, list, count, err);
    runtime->tick = NULL;
    return result;
}

/* Hosts that the watch leaves alone for a while; of this process. */
static struct resting {
    uint32_t host_id;
    int64_t until_ms; /* monotonic */
} resting[RESTING_MAX];

static bool rests(uint32_t host_id)
{
    for (unsigned i = 0; i < RESTING_MAX; i++)
        if (resting[i].host_id == host_id)
            return clock_monotonic_ms() < resting[i].until_ms;
    return false;
}

static void let_rest(uint32_t host_id)
{
    struct resting *place = &resting[0];
    for (unsigned i = 0; i < RESTING_MAX && place->host_id != host_id; i++)
        if (resting[i].host_id == host_id || resting[i].until_ms < place->until_ms)
            place = &resting[i];
    *place = (struct resting){host_id, clock_monotonic_ms() + WATCH_REST_MS};
}

/* --- looking at hosts --- */

/* One look at a host. with_orphans: also for instances that belong to nobody. */
static int look_at_host(struct sandbox_service *service, uint32_t host_id, bool with_orphans,
                        struct error **err)
{
    struct runtime *runtime;
    struct runtime_listing *list = NULL;
    size_t count = 0;
    if (runtimes_get(service->runtimes, service->db, host_id, &runtime, err) < 0 ||
        list_in_time(runtime, with_orphans ? SWEEP_PATIENCE_MS : WATCH_PATIENCE_MS, &list, &count,
                     err) < 0)
        return -1;
    int result = sweep_ready(service, host_id, runtime, list, count, err);
    for (size_t i = 0; with_orphans && i < count && result == 0; i++)
        result = sweep_instance(service, runtime, &list[i], err);
    runtime_listing_free(list, count);
    if (with_orphans && result == 0)
        result = checkpoint_sweep_host(service, host_id, runtime, err);
    return result;
}

static int look_at_hosts(struct sandbox_service *service, bool with_orphans, struct error **err)
{
    struct host *hosts = NULL;
    unsigned count = 0;
    if (host_list(service->db, &hosts, &count, err) < 0)
        return -1;
    for (unsigned i = 0; i < count; i++) {
        error_auto failure = NULL;
        if (!with_orphans && rests(hosts[i].id))
            continue;
        if (look_at_host(service, hosts[i].id, with_orphans, &failure) == 0)
            continue;
        /* The watch comes back in a second: the sweep says it often enough. */
        if (with_orphans)
            log_warning("host could not be swept", LOG_STR("host", hosts[i].name),
                        LOG_ERROR(failure));
        else if (count > 1)
            let_rest(hosts[i].id);
    }
    hosts_free(hosts, count);
    return 0;
}

int sandbox_sweep(struct sandbox_service *service, struct error **err)
{
    return look_at_hosts(service, true, err);
}

int sandbox_watch(struct sandbox_service *service, struct error **err)
{
    bool ours;
    if (host_watch_lock(service->db, &ours, err) < 0)
        return -1;
    return ours ? look_at_hosts(service, false, err) : 0;
}
