/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/clock.h"
#include "base/fault_point.h"
#include "base/log.h"
#include "sandbox/lifecycle_steps.h"

/* A removal takes a second at most; where a start or a pause has to end first, it is tried again in
 * the background, so that neither a client nor the work for others waits for it. */
#define ANSWER_MOST_MS 15000

/* First the firewall is asked, so that what cannot be removed at once reaches nothing. */
static int remove_instance(struct work *work, struct error **err)
{
    work->answer_by_ms = clock_monotonic_ms() + ANSWER_MOST_MS;
    work_network_remove_begin(work);
    int result = work->runtime->ops->destroy(work->runtime, work->sandbox.instance_name, err);
    work_network_remove_end(work);
    return result;
}

int work_run_destroy(struct work *work, struct error **err)
{
    error_auto failure = NULL;
    fault_point(FAULT_DELETE_BEGUN);
    if (work_open_runtime(work, &failure) == 0 && remove_instance(work, &failure) == 0) {
        fault_point(FAULT_DELETE_REMOVED);
        if (work_finish(work, SANDBOX_EVENT_DESTROYED, NULL, err) < 0)
            return -1;
        fault_point(FAULT_DELETE_FINISHED);
        return 0;
    }
    /* Nothing but its end is a result: it is tried again until the runtime lets go. */
    if (failure->code != ERR_LEASE_LOST)
        work_defer(work, failure);
    return error_move(err, &failure);
}

int sandbox_destroy(struct worker *worker, const char *id, struct error **err)
{
    work_auto work = {.worker = worker};
    if (work_begin(&work, worker, id, SANDBOX_EVENT_DELETE, OPERATION_DESTROY, NULL, NULL, err) < 0)
        return work_public_error(&work, err);
    error_auto failure = NULL;
    if (work_run_destroy(&work, &failure) < 0)
        log_warning("sandbox removal goes on in the background", LOG_STR("sandbox", id),
                    LOG_ERROR(failure));
    return 0;
}

/* Someone else ended the operation, most likely a delete that did not find the instance yet: what
 * we have made since must go. */
static void remove_leftover(struct work *work)
{
    error_auto failure = NULL;
    work->runtime->tick = NULL;
    if (work->runtime->ops->destroy(work->runtime, work->sandbox.instance_name, &failure) < 0)
        log_warning("instance of a deleted sandbox is left to the sweep",
                    LOG_STR("instance", work->sandbox.instance_name), LOG_ERROR(failure));
}

int work_undo_create(struct work *work, struct error **err)
{
    if ((*err)->code == ERR_LEASE_LOST) {
        if (work->runtime)
            remove_leftover(work);
        return -1;
    }
    log_warning("create failed and is undone", LOG_STR("sandbox", work->sandbox.id),
                LOG_ERROR(*err));
    work_auto undo = {.worker = work->worker};
    error_auto failure = NULL;
    /* When the database is away the create's own lease runs out and the dispatcher does this. */
    if (work_begin(&undo, work->worker, work->sandbox.id, SANDBOX_EVENT_DELETE, OPERATION_DESTROY,
                   NULL, NULL, &failure) == 0) {
        work_run_destroy(&undo, &failure);
    } else if (failure->code == ERR_NOT_FOUND) { /* deleted meanwhile, which explains the failure */
        if (work->runtime)
            remove_leftover(work);
        error_clear(err);
        return error_set(err, ERR_LEASE_LOST, "the sandbox was deleted");
    }
    return -1;
}
