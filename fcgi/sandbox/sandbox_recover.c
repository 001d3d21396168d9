/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the dispatcher does: deadlines, operations whose holder is gone, and the sweep. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "sandbox/fault_point.h"
#include "sandbox/host.h"
#include "sandbox/lifecycle_steps.h"
#include "sandbox/sandbox_row.h"
#include "sandbox/warm.h"

static int run(struct work *work, struct error **err)
{
    switch (work->operation.kind) {
    case OPERATION_PAUSE:
        return work_run_pause(work, err);
    case OPERATION_RESUME:
        return work_run_resume(work, err);
    case OPERATION_DESTROY:
        return work_run_destroy(work, err);
    case OPERATION_CREATE:
        /* Nobody was told of this sandbox: it is removed, not finished. */
        error_set(err, ERR_RUNTIME_UNAVAILABLE, "the worker that created it is gone");
        work_undo_create(work, err);
        error_clear(err);
        return 0;
    }
    abort();
}

/* --- deadlines --- */

static int expire_body(struct db *db, void *context, struct error **err)
{
    struct work *work = context;
    struct sandbox *sandbox = &work->sandbox;
    char id[ID_SIZE];
    sandbox_deinit(sandbox);
    if (sandbox_row_lock_due(db, clock_now_ms(), id, err) < 0)
        return -1;
    if (!id[0])
        return 0;
    if (sandbox_get_any(db, id, true, sandbox, err) < 0)
        return -1;
    fault_point(FAULT_DEADLINE_EXPIRING);
    bool kill = sandbox->on_timeout == ON_TIMEOUT_KILL;
    return work_begin_locked(work, db, kill ? SANDBOX_EVENT_DELETE : SANDBOX_EVENT_PAUSE,
                             kill ? OPERATION_DESTROY : OPERATION_PAUSE, err);
}

int sandbox_expire_next(struct sandbox_service *service, bool *worked, struct error **err)
{
    work_auto work = {.service = service, .queued = true};
    *worked = false;
    if (db_transaction(service->db, expire_body, &work, err) < 0)
        return -1;
    if (!work.sandbox.id[0])
        return 0;
    *worked = true;
    log_info("deadline", LOG_STR("sandbox", work.sandbox.id),
             LOG_STR("on_timeout", on_timeout_name(work.sandbox.on_timeout)),
             LOG_STR("operation", work.operation.id));
    return 0;
}

/* --- operations without a holder --- */

int sandbox_recover_next(struct sandbox_service *service, bool *worked, struct error **err)
{
    work_auto work = {.service = service};
    *worked = false;
    if (operation_take_overdue(service->db, service->holder, service->settings->lease_s,
                               &work.operation, err) < 0)
        return -1;
    if (!work.operation.id[0])
        return 0;
    *worked = true;
    if (sandbox_get_any(service->db, work.operation.sandbox_id, false, &work.sandbox, err) < 0)
        return -1;
    if (strcmp(work.sandbox.operation_id, work.operation.id))
        return operation_end(service->db, &work.operation, "superseded", err);
    work_start(&work, service);
    return run(&work, err);
}

/* --- the sweep --- */

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
    if (sandbox_row_uses_instance(service->db, instance->name, &known, err) < 0)
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
    return sandbox_row_update(db, &sandbox, err);
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

static int sweep_host(struct sandbox_service *service, uint32_t host_id, struct error **err)
{
    struct runtime *runtime;
    struct runtime_listing *list = NULL;
    size_t count = 0;
    if (runtimes_get(service->runtimes, service->db, host_id, &runtime, err) < 0 ||
        runtime->ops->list(runtime, &list, &count, err) < 0)
        return -1;
    int result = sweep_ready(service, host_id, runtime, list, count, err);
    for (size_t i = 0; i < count && result == 0; i++)
        result = sweep_instance(service, runtime, &list[i], err);
    runtime_listing_free(list, count);
    return result;
}

int sandbox_sweep(struct sandbox_service *service, struct error **err)
{
    struct host *hosts = NULL;
    unsigned count = 0;
    if (host_list(service->db, &hosts, &count, err) < 0)
        return -1;
    for (unsigned i = 0; i < count; i++) {
        error_auto failure = NULL;
        if (sweep_host(service, hosts[i].id, &failure) < 0)
            log_warning("host could not be swept", LOG_STR("host", hosts[i].name),
                        LOG_ERROR(failure));
        host_deinit(&hosts[i]);
    }
    free(hosts);
    return 0;
}
