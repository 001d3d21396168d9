/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sandbox/sandbox_size.h"

#include "base/clock.h"
#include "base/fault_point.h"
#include "base/log.h"
#include "host/runtimes.h"
#include "sandbox/mount_list.h"
#include "sandbox/sandbox.h"
#include "sandbox/sandbox_size_row.h"
#include "template/warm_plan.h"

/* Creates go first, for at most this time in a row. */
#define GIVE_WAY_MS  5000
#define AGAIN_MIN_MS 500
#define AGAIN_MAX_MS 60000

struct telling {
    struct worker *worker;
    char id[LEASE_KEY_SIZE];
    unsigned attempts;
    struct lease lease;
};

static int gives_way(struct worker *worker, bool *rest, struct error **err)
{
    static int64_t since_ms; /* monotonic; 0: no create is running */
    int64_t now_ms = clock_monotonic_ms();
    struct warm_plan plan;
    if (warm_plan_begin(worker->db, 0, &plan, err) < 0)
        return -1;
    if (!plan.busy)
        since_ms = 0;
    else if (!since_ms)
        since_ms = now_ms;
    *rest = plan.busy && now_ms - since_ms < GIVE_WAY_MS;
    return 0;
}

static int take_body(struct db *db, void *context, struct error **err)
{
    struct telling *telling = context;
    const struct worker *worker = telling->worker;
    return size_row_take(db, worker->lease_owner, worker->settings->lease_s, telling->id,
                         &telling->attempts, err);
}

static int tick(void *context, struct error **err)
{
    struct telling *telling = context;
    return lease_tick(&telling->lease, err);
}

static int tell(struct telling *telling, const struct sandbox *sandbox, struct error **err)
{
    struct worker *worker = telling->worker;
    struct runtime *runtime;
    mount_list_auto list = {.count = 0};
    lease_keep(&telling->lease, worker->db, &sandbox_sizes, telling->id, worker->lease_owner,
               worker->settings->lease_s * 1000);
    if (mount_list_read(&list, worker->db, sandbox, err) < 0 ||
        runtimes_get(worker->runtimes, worker->db, sandbox->host_id, &runtime, err) < 0)
        return -1;
    runtime->tick = tick;
    runtime->tick_context = telling;
    int result = runtime->ops->adapt(runtime, sandbox->instance_name, &sandbox->resources,
                                     list.mounts, list.count, err);
    runtime->tick = NULL;
    if (result < 0)
        return -1;
    fault_point(FAULT_SIZE_TOLD);
    log_info("updated the size of a sandbox in Incus", SANDBOX_LOG(sandbox),
             LOG_INT("attempt", telling->attempts));
    return size_row_told(worker->db, telling->id, worker->lease_owner, err);
}

static uint64_t again_ms(const struct telling *telling)
{
    unsigned doublings = telling->attempts < 8 ? telling->attempts : 8;
    uint64_t ms = (uint64_t)AGAIN_MIN_MS << doublings;
    return ms < AGAIN_MAX_MS ? ms : AGAIN_MAX_MS;
}

static int defer(const struct telling *telling, uint64_t ms, struct error **err)
{
    struct worker *worker = telling->worker;
    return size_row_defer(worker->db, telling->id, worker->lease_owner, ms, err);
}

/* Update Incus for a running sandbox. For others, the current or next lifecycle move does it. */
static int follow(struct telling *telling, struct error **err)
{
    sandbox_auto sandbox = {0};
    error_auto failure = NULL;
    if (sandbox_get_any(telling->worker->db, telling->id, false, &sandbox, err) < 0) {
        if (!error_clear_if(err, ERR_NOT_FOUND))
            return -1;
        return sandbox_size_forget(telling->worker->db, telling->id, err);
    }
    switch (sandbox.state) {
    case SANDBOX_READY:
        break;
    case SANDBOX_DESTROYING:
    case SANDBOX_DESTROYED:
        return sandbox_size_forget(telling->worker->db, telling->id, err);
    default:
        return defer(telling, again_ms(telling), err);
    }
    if (tell(telling, &sandbox, &failure) == 0)
        return 0;
    log_warning("cannot update the size of a sandbox in Incus; trying again", SANDBOX_LOG(&sandbox),
                LOG_ERROR(failure));
    return defer(telling, again_ms(telling), err);
}

int sandbox_size_next(struct worker *worker, bool *worked, struct error **err)
{
    struct telling telling = {.worker = worker};
    bool rest = false;
    *worked = false;
    if (gives_way(worker, &rest, err) < 0)
        return -1;
    if (rest)
        return 0;
    if (db_transaction(worker->db, take_body, &telling, err) < 0)
        return -1;
    *worked = telling.id[0];
    if (!*worked)
        return 0;
    fault_point(FAULT_SIZE_TAKEN);
    return follow(&telling, err);
}
