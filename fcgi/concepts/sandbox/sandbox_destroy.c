/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/clock.h"
#include "base/fault_point.h"
#include "base/log.h"
#include "checkpoint/checkpoint_row.h"
#include "sandbox/lifecycle_steps.h"
#include "sandbox/quota.h"
#include "sandbox/sandbox_events.h"

/* A removal takes a second at most. When a start or a pause has to end first, the dispatcher tries
 * again, so that neither a client nor other work waits for it. */
#define ANSWER_MOST_MS 15000

/* The firewall acts first, so that an instance that cannot be removed at once reaches nothing. */
static int remove_instance(struct work *work, struct error **err)
{
    work->answer_by_ms = clock_monotonic_ms() + ANSWER_MOST_MS;
    work_network_remove_begin(work);
    int result = work->runtime->ops->destroy(work->runtime, work->sandbox.instance_name, err);
    work_network_remove_end(work);
    if (result == 0)
        work_network_ended(work);
    return result;
}

/* Copies of a fork are made from the instance of their original. */
static int wait_for_forks(struct work *work, struct error **err)
{
    bool forking;
    if (checkpoint_row_forking(work->worker->db, work->sandbox.id, &forking, err) < 0)
        return -1;
    return forking ? error_set(err, ERR_RUNTIME_UNAVAILABLE, "a fork is creating sandboxes from it")
                   : 0;
}

/* Check whether the instance is gone. On a lost host nothing is left to remove. */
static bool is_gone(struct work *work, struct error **err)
{
    if (work_open_runtime(work, err) == 0)
        return remove_instance(work, err) == 0;
    return (*err)->code == ERR_HOST_LOST;
}

int work_run_destroy(struct work *work, struct error **err)
{
    error_auto failure = NULL;
    fault_point(FAULT_DELETE_BEGUN);
    if (wait_for_forks(work, &failure) == 0 && is_gone(work, &failure)) {
        fault_point(FAULT_DELETE_REMOVED);
        if (work_finish(work, SANDBOX_EVENT_DESTROYED, NULL, err) < 0)
            return -1;
        fault_point(FAULT_DELETE_FINISHED);
        return 0;
    }
    /* A failed removal is no result: it is repeated until it succeeds. */
    if (failure->code != ERR_LEASE_LOST)
        work_defer(work, failure);
    return error_move(err, &failure);
}

void work_cut_off(struct work *work)
{
    struct runtime *runtime;
    error_auto failure = NULL;
    if (work->sandbox.reserved == RESERVES_NOTHING) /* the sandbox does not run */
        return;
    if (runtimes_get(work->worker->runtimes, work->worker->db, work->sandbox.host_id, &runtime,
                     &failure) == 0) {
        work_network_remove_begin(work);
        work_network_remove_end(work);
    } else {
        log_warning("cannot close the network of a deleted sandbox; it may use the network until "
                    "its instance stops",
                    SANDBOX_LOG(&work->sandbox), LOG_ERROR(failure));
    }
    fault_point(FAULT_DELETE_CUT);
}

struct removal {
    struct work *work;
    const char *id;
};

/* The team has its quota back when the delete is answered. The delete waits for the removal of the
 * instance in two cases. With volumes, these must be free afterwards. With too many instances of
 * the team waiting for removal, they would take more room on the hosts than its quota. */
static int remove_body(struct db *db, void *context, struct error **err)
{
    struct removal *removal = context;
    struct work *work = removal->work;
    struct sandbox *sandbox = &work->sandbox;
    sandbox_deinit(sandbox);
    if (sandbox_get_any(db, removal->id, true, sandbox, err) < 0)
        return -1;
    if (!sandbox_state_is_shown(sandbox->state))
        return error_set(err, ERR_NOT_FOUND, "There is no such sandbox.");
    bool may_leave = true;
    if (sandbox->reserved == RESERVES_ALL) {
        if (quota_may_leave(db, sandbox->team_id, &may_leave, err) < 0)
            return -1;
        sandbox->reserved = RESERVES_ROOM;
    }
    work->queued = may_leave && !sandbox_has_volumes(sandbox);
    return work_begin_locked(work, db, SANDBOX_EVENT_DELETE, OPERATION_DESTROY, err);
}

int sandbox_destroy(struct worker *worker, const char *id, struct error **err)
{
    work_auto work = {.worker = worker};
    struct removal removal = {&work, id};
    error_auto failure = NULL;
    if (db_transaction(worker->db, remove_body, &removal, err) < 0)
        return work_public_error(&work, err);
    /* The dispatcher gets no notice: no client waits, and it looks within a second. */
    if (work.queued) {
        work_cut_off(&work);
        return 0;
    }
    work_start(&work, worker);
    if (work_run_destroy(&work, &failure) < 0)
        log_warning("cannot finish deleting a sandbox; the dispatcher continues",
                    LOG_STR("sandbox", id), LOG_ERROR(failure));
    return 0;
}

/* Another process ended the operation, most likely a delete that did not find the instance yet.
 * Delete the instance that was made since. While the sandbox exists, the instance belongs to the
 * process that has taken the operation over. */
static void remove_orphan(struct work *work)
{
    sandbox_auto row = {0};
    error_auto failure = NULL;
    work->runtime->tick = NULL;
    if (sandbox_get_any(work->worker->db, work->sandbox.id, false, &row, &failure) == 0 &&
        sandbox_state_is_shown(row.state))
        return;
    if (failure ||
        work->runtime->ops->destroy(work->runtime, work->sandbox.instance_name, &failure) < 0)
        log_warning("cannot delete the instance of a deleted sandbox; the sweep tries again",
                    LOG_STR("instance", work->sandbox.instance_name), LOG_ERROR(failure));
}

struct undone {
    const struct work *work;
    const struct error *failure;
};

static int tell_failed(struct db *db, struct sandbox *sandbox, void *context, struct error **err)
{
    (void)sandbox;
    const struct undone *undone = context;
    return work_tell_failed(undone->work, db, "create", undone->failure, err);
}

int work_undo_create(struct work *work, struct error **err)
{
    bool waits = !work_lacks_host(work, *err);
    if ((*err)->code == ERR_LEASE_LOST) {
        if (work->runtime)
            remove_orphan(work);
        return -1;
    }
    log_warning("cannot create a sandbox; undoing the create", SANDBOX_LOG(&work->sandbox),
                LOG_ERROR(*err));
    work_auto undo = {.worker = work->worker, .queued = !waits};
    error_auto failure = NULL;
    struct undone undone = {work, *err};
    /* If the database cannot be reached, the create's own lease runs out and the dispatcher does
     * this. */
    if (work_begin(&undo, work->worker, work->sandbox.id, SANDBOX_EVENT_DELETE, OPERATION_DESTROY,
                   tell_failed, &undone, &failure) == 0) {
        if (waits)
            work_run_destroy(&undo, &failure);
    } else if (failure->code == ERR_NOT_FOUND) { /* deleted meanwhile, which explains the failure */
        if (work->runtime)
            remove_orphan(work);
        error_clear(err);
        return error_set(err, ERR_LEASE_LOST, "the sandbox was deleted");
    }
    return -1;
}
