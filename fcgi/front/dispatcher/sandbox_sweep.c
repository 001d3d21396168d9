/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Handle instances that belong to no row, or that run although their sandbox is paused. */
#include "dispatcher/sandbox_sweep.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "dispatcher/jobs.h"
#include "host/host.h"
#include "joining/join_trial.h"
#include "sandbox/lifecycle.h"
#include "sandbox/sandbox_row.h"
#include "template/template_trial.h"
#include "template/warm.h"
#include "worker/hold.h"
#include "worker/sweep_failure.h"

#define LIST_PATIENCE_MS 15000
#define STOP_PATIENCE_MS 15000

/* --- instances of paused sandboxes --- */

struct unexpected {
    struct worker *worker;
    const char *id;
    uint32_t host_id;
    struct runtime_resources resources;
    bool held;
};

/* Hold the instance, so that no operation of the sandbox starts. */
static int unexpected_body(struct db *db, void *context, struct error **err)
{
    struct unexpected *unexpected = context;
    sandbox_auto sandbox = {0};
    unexpected->held = false;
    if (sandbox_get_any(db, unexpected->id, true, &sandbox, err) < 0)
        return -1;
    if (sandbox.state != SANDBOX_STOPPED || sandbox.host_id != unexpected->host_id)
        return 0;
    unexpected->resources = sandbox.resources;
    unexpected->held = true;
    return hold_take(unexpected->worker, unexpected->host_id, unexpected->id, STOP_PATIENCE_MS,
                     err);
}

static int stop_held(struct runtime *runtime, const char *instance_name,
                     const struct runtime_resources *resources, bool *stopped, struct error **err)
{
    enum runtime_status status;
    enum runtime_origin origin;
    *stopped = false;
    if (runtime->ops->inspect(runtime, instance_name, &status, err) < 0)
        return -1;
    *stopped = !runtime_is_down(status);
    return *stopped ? runtime->ops->pause(runtime, instance_name, resources, RUNTIME_PAUSE_DISK,
                                          &origin, err)
                    : 0;
}

int sandbox_stop_unexpected(struct worker *worker, uint32_t host_id, struct runtime *runtime,
                            const char *instance_name, struct error **err)
{
    char id[ID_SIZE];
    enum sandbox_state state;
    bool stopped;
    if (sandbox_row_of_instance(worker->db, host_id, instance_name, id, &state, err) < 0)
        return -1;
    if (!*id || state != SANDBOX_STOPPED)
        return 0;
    struct unexpected unexpected = {.worker = worker, .id = id, .host_id = host_id};
    if (db_transaction(worker->db, unexpected_body, &unexpected, err) < 0)
        return hold_is_of_another(err) ? 0 : -1;
    if (!unexpected.held)
        return 0;
    runtime_limit(runtime, STOP_PATIENCE_MS);
    int result = stop_held(runtime, instance_name, &unexpected.resources, &stopped, err);
    runtime_limit(runtime, 0);
    hold_end(worker, host_id, id, result < 0 ? *err : NULL);
    if (result == 0 && stopped)
        log_warning("stopped the running instance of a paused sandbox", LOG_STR("sandbox", id));
    return result;
}

/* --- orphaned instances --- */

/* Delete an instance without a row. If a move has left it behind, its sandbox may come back to this
 * host, so sandbox_remove_stray() checks. */
static int remove_orphan(struct worker *worker, uint32_t host_id, struct runtime *runtime,
                         const char *instance_name, struct error **err)
{
    char id[ID_SIZE];
    enum sandbox_state state;
    if (sandbox_row_of_instance(worker->db, 0, instance_name, id, &state, err) < 0)
        return -1;
    if (*id)
        return sandbox_remove_stray(worker, id, host_id, instance_name, err);
    log_warning("deleting an instance on a host, because the database has no row for it",
                LOG_STR("instance", instance_name));
    return runtime->ops->destroy(runtime, instance_name, err);
}

/* Compare an instance on a host with the rows, and delete it if no row uses it. */
static int sweep_instance(struct worker *worker, uint32_t host_id, struct runtime *runtime,
                          const struct runtime_listing *instance, struct error **err)
{
    char id[ID_SIZE];
    enum sandbox_state state;
    bool known;
    if (!runtime_is_down(instance->status) &&
        sandbox_stop_unexpected(worker, host_id, runtime, instance->name, err) < 0)
        return -1;
    /* A younger one may belong to a row that this sweep has not read, or to a create that undoes
     * itself. */
    int64_t grace_ms = 2 * (int64_t)worker->settings->lease_s * 1000;
    if (clock_now_ms() - instance->created_at_ms < grace_ms)
        return 0;
    if (warm_knows(worker->db, instance->name, &known, err) < 0)
        return -1;
    if (known) /* a warm instance must run to be of use */
        return instance->status == RUNTIME_RUNNING ? 0
                                                   : warm_dismiss(worker->db, instance->name, err);
    if (sandbox_row_of_instance(worker->db, host_id, instance->name, id, &state, err) < 0 ||
        (!*id && (template_trial_knows(worker->db, instance->name, &known, err) < 0 ||
                  (!known && join_trial_knows(worker, instance->name, &known, err) < 0))))
        return -1;
    return *id || known ? 0 : remove_orphan(worker, host_id, runtime, instance->name, err);
}

/* --- reading hosts --- */

static void note_running(bool *in_order, const struct runtime_listing *list, size_t count,
                         const char *instance_name)
{
    const struct runtime_listing *found = runtime_listing_find(list, count, instance_name);
    if (found && found->status == RUNTIME_RUNNING)
        in_order[found - list] = true;
}

/* Find the instances that run as their rows say; these are nearly all. It takes two statements for
 * a host instead of some for each instance. The rows are read after the listing. */
static int find_in_order(struct worker *worker, uint32_t host_id,
                         const struct runtime_listing *list, size_t count, bool *in_order,
                         struct error **err)
{
    autofree struct sandbox_ready *ready = NULL;
    autofree struct warm_ready *waiting = NULL;
    size_t ready_count, waiting_count;
    if (sandbox_row_ready_on_host(worker->db, host_id, &ready, &ready_count, err) < 0 ||
        warm_ready_on_host(worker->db, host_id, &waiting, &waiting_count, err) < 0)
        return -1;
    for (size_t i = 0; i < ready_count; i++)
        note_running(in_order, list, count, ready[i].instance_name);
    for (size_t i = 0; i < waiting_count; i++)
        note_running(in_order, list, count, waiting[i].instance_name);
    return 0;
}

static int sweep_list(struct worker *worker, uint32_t host_id, struct runtime *runtime,
                      const struct runtime_listing *list, size_t count, struct error **err)
{
    autofree bool *in_order = xcalloc(count + 1, sizeof *in_order);
    unsigned failures = 0;
    if (find_in_order(worker, host_id, list, count, in_order, err) < 0)
        return -1;
    size_t first = sweep_first(count);
    for (size_t n = 0; n < count && failures < SWEEP_FAILURES_MAX; n++) {
        size_t i = (first + n) % count;
        if (!in_order[i] && sweep_instance(worker, host_id, runtime, &list[i], err) < 0 &&
            !sweep_passes_over(&failures, list[i].name, err))
            return -1;
    }
    return 0;
}

static int sweep_host(void *context, const struct host *host, struct error **err)
{
    struct worker *worker = context;
    struct runtime *runtime;
    struct runtime_listing *list = NULL;
    size_t count = 0;
    if (runtimes_of(worker->runtimes, worker->db, host, &runtime, err) < 0)
        return -1;
    runtime_limit(runtime, LIST_PATIENCE_MS);
    int result = runtime->ops->list(runtime, &list, &count, err);
    runtime_limit(runtime, 0);
    if (result == 0)
        result = sweep_list(worker, host->id, runtime, list, count, err);
    runtime_listing_free(list, count);
    return result == 0 ? checkpoint_sweep_host(worker, host->id, runtime, err) : -1;
}

int sandbox_sweep(struct worker *worker, struct error **err)
{
    return hosts_each(worker->db, sweep_host, worker,
                      "cannot compare the instances of a host with the database; trying again",
                      err);
}
