/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Roll a sandbox back to a checkpoint. The row names the checkpoint before the instance is removed,
 * so a dispatcher that takes the operation over makes the same instance again, from the start.
 */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/fault_point.h"
#include "base/str.h"
#include "checkpoint/checkpoint_move.h"
#include "checkpoint/checkpoint_row.h"
#include "moving/moving.h"
#include "sandbox/failed_starts.h"
#include "sandbox/lifecycle_steps.h"
#include "sandbox/reservation.h"
#include "sandbox/sandbox_events.h"
#include "sandbox/sandbox_hook.h"

#define ATTEMPTS        4
#define MEMORY_ATTEMPTS 2 /* the later ones start from the disk of the checkpoint */

/* --- beginning --- */

struct admission {
    const struct sandbox_rollback *how;
    struct checkpoint checkpoint;
};

static int refuse(struct error **err, const char *sentence)
{
    return error_set_field(err, ERR_INVALID_REQUEST, "/checkpoint", "%s", sentence);
}

static int check_checkpoint(const struct sandbox *sandbox, const struct checkpoint *checkpoint,
                            struct error **err)
{
    const struct runtime_resources *size = &sandbox->resources;
    if (!str_equal(checkpoint->sandbox_id, sandbox->id) &&
        !str_equal(checkpoint->id, sandbox->snapshot_id))
        return refuse(err, "The checkpoint was made of another sandbox.");
    if (checkpoint->cpu != size->cpu || checkpoint->memory_mb != size->memory_mb)
        return refuse(err, "The sandbox and the checkpoint have different sizes.");
    return 0;
}

/* Replace "there is no such checkpoint" by an error that names the member of the request. */
static int name_missing(struct error **err)
{
    if (!error_clear_if(err, ERR_NOT_FOUND))
        return -1;
    return error_set_field(err, ERR_NOT_FOUND, "/checkpoint",
                           "The team has no checkpoint with this id or name.");
}

/* Until the sandbox is ready again, the checkpoint cannot be deleted or moved. */
static int hold_checkpoint(struct db *db, const struct sandbox *sandbox,
                           const struct checkpoint *checkpoint, struct error **err)
{
    uint32_t host_id;
    if (checkpoint_hold(db, checkpoint->id, &host_id, err) < 0)
        return name_missing(err);
    return host_id == sandbox->host_id
               ? 0
               : error_set(err, ERR_NO_CAPACITY,
                           "The checkpoint is on another host than the sandbox and could not be "
                           "copied; try again soon.");
}

/* Sandboxes of a fork are made from the instance that a rollback removes, and a move copies it. */
static int check_busy(struct db *db, const struct sandbox *sandbox, struct error **err)
{
    bool forking, moves;
    struct move move;
    if (checkpoint_row_forking(db, sandbox->id, &forking, err) < 0 ||
        move_find(db, sandbox->id, &move, &moves, err) < 0)
        return -1;
    return forking || moves ? error_set(err, ERR_SANDBOX_BUSY, "The sandbox is being %s.",
                                        forking ? "forked" : "moved to another host")
                            : 0;
}

/* In other states the move itself is refused. */
static int admit(struct db *db, struct sandbox *sandbox, void *context, struct error **err)
{
    struct admission *admission = context;
    const struct checkpoint *checkpoint = &admission->checkpoint;
    bool stopped = sandbox->state == SANDBOX_STOPPED;
    if (!stopped && sandbox->state != SANDBOX_READY)
        return 0;
    if (check_checkpoint(sandbox, checkpoint, err) < 0 || check_busy(db, sandbox, err) < 0 ||
        sandbox_take_timeout(db, sandbox, admission->how->timeout_s, err) < 0 ||
        (stopped && work_lock_volumes(db, sandbox, err) < 0) ||
        hold_checkpoint(db, sandbox, checkpoint, err) < 0 ||
        (stopped && reservation_renew(db, sandbox, err) < 0))
        return -1;
    memcpy(sandbox->snapshot_id, checkpoint->id, sizeof sandbox->snapshot_id);
    sandbox->forked_from[0] = '\0';
    sandbox->memory_left = false;
    snprintf(sandbox->moved_by, sizeof sandbox->moved_by, "%s", MOVED_BY_ROLLBACK);
    return 0;
}

/* --- working --- */

/* Read its checkpoint, without the memory that has not started before. */
static int find_checkpoint(struct work *work, struct checkpoint *checkpoint, struct error **err)
{
    if (checkpoint_get_any(work->worker->db, work->sandbox.snapshot_id, false, checkpoint, err) < 0)
        return -1;
    if (checkpoint->memory && work->operation.attempts > MEMORY_ATTEMPTS) {
        checkpoint->memory = false;
        snprintf(work->memory_lost, sizeof work->memory_lost,
                 "the memory of the checkpoint did not start");
    }
    return 0;
}

/* *removed: the instance is gone. */
static int replace_instance(struct work *work, bool *removed, struct error **err)
{
    struct sandbox *sandbox = &work->sandbox;
    struct checkpoint checkpoint;
    mount_list_auto mounts = {.count = 0};
    if (find_checkpoint(work, &checkpoint, err) < 0 || work_open_runtime(work, err) < 0 ||
        mount_list_read(&mounts, work->worker->db, sandbox, err) < 0)
        return -1;
    if (!sandbox->stopped_at_ms)
        work_hang_up(work);
    if (work->runtime->ops->destroy(work->runtime, sandbox->instance_name, err) < 0)
        return -1;
    *removed = true;
    fault_point(FAULT_ROLLBACK_REMOVED);
    if (work_fence_volumes(work, err) < 0 || work_start_from(work, &checkpoint, &mounts, err) < 0)
        return -1;
    snprintf(sandbox->resumed_from, sizeof sandbox->resumed_from, "%s",
             checkpoint.memory ? "memory" : "disk");
    return 0;
}

/* It cannot start, and counts as stopped. A sandbox whose hook failed keeps the disk of the
 * checkpoint. A half-made instance is removed. */
static int give_up(struct work *work, struct error **failure, struct error **err)
{
    struct sandbox *sandbox = &work->sandbox;
    struct runtime *runtime = work->runtime;
    enum runtime_origin kept;
    error_auto ignored = NULL;
    if (runtime && (*failure)->code == ERR_HOOK_FAILED)
        runtime->ops->pause(runtime, sandbox->instance_name, &sandbox->resources,
                            RUNTIME_PAUSE_DISK, &kept, &ignored);
    else if (runtime)
        runtime->ops->destroy(runtime, sandbox->instance_name, &ignored);
    if ((*failure)->code == ERR_NOT_FOUND) /* the checkpoint's instance */
        error_recode(failure, ERR_RUNTIME_REFUSED);
    if (work_finish(work, SANDBOX_EVENT_RESUME_FAILED, *failure, err) < 0)
        return -1;
    return error_move(err, failure);
}

int work_run_rollback(struct work *work, struct error **err)
{
    bool removed = false;
    error_auto failure = NULL;
    fault_point(FAULT_ROLLBACK_BEGUN);
    work_hold_services(work);
    if (replace_instance(work, &removed, &failure) == 0 &&
        work_run_hook(work, HOOK_AFTER_RESUME, &failure) == 0) {
        fault_point(FAULT_ROLLBACK_STARTED);
        if (work_finish(work, SANDBOX_EVENT_RESUMED, NULL, err) < 0)
            return -1;
        fault_point(FAULT_ROLLBACK_FINISHED);
        return 0;
    }
    if (failure->code == ERR_LEASE_LOST)
        return error_move(err, &failure);
    /* A delete that removes the instance at the same time is the cause of some failures. */
    if (work_still_ours(work, err) < 0)
        return -1;
    /* Without the host, no start was tried. */
    bool waits = failure->code == ERR_HOST_UNREACHABLE ||
                 (!removed && failure->code == ERR_RUNTIME_UNAVAILABLE);
    if (failure->code == ERR_HOOK_FAILED || (!waits && work->operation.attempts >= ATTEMPTS))
        return give_up(work, &failure, err);
    if (waits)
        work_await_host(work, failure);
    else
        work_defer(work, failure);
    return error_set(err, ERR_RUNTIME_UNAVAILABLE, "%s", failure->message);
}

/* Copy the checkpoint to the host of the sandbox, if it is on another one. */
static int bring_checkpoint(struct worker *worker, const char *id,
                            const struct checkpoint *checkpoint, int64_t give_up_ms,
                            struct error **err)
{
    sandbox_auto sandbox = {0};
    bool moved;
    if (sandbox_get(worker->db, id, &sandbox, err) < 0)
        return -1;
    if (sandbox.host_id == checkpoint->host_id)
        return 0;
    if (check_checkpoint(&sandbox, checkpoint, err) < 0)
        return -1;
    const struct move_order order = {.id = checkpoint->id, .only_host = sandbox.host_id};
    return moving_for_room(worker, &checkpoint_move_start, &order, give_up_ms, &moved, err);
}

int sandbox_rollback(struct worker *worker, const char *id, const struct sandbox_rollback *how,
                     struct sandbox *sandbox, struct error **err)
{
    int64_t give_up_ms = clock_monotonic_ms() + (int64_t)worker->settings->resume_wait_s * 1000;
    struct admission admission = {.how = how};
    if (checkpoint_resolve(worker->db, how->team, how->checkpoint, &admission.checkpoint, err) < 0)
        return name_missing(err);
    if (failed_start_check(worker, admission.checkpoint.team_id, admission.checkpoint.id, err) <
            0 ||
        bring_checkpoint(worker, id, &admission.checkpoint, give_up_ms, err) < 0)
        return -1;
    for (;;) {
        work_auto work = {.worker = worker};
        if (work_begin(&work, worker, id, SANDBOX_EVENT_ROLLBACK, OPERATION_ROLLBACK, admit,
                       &admission, err) == 0) {
            if (work_run_rollback(&work, err) < 0)
                return work_public_error(&work, err);
            *sandbox = work.sandbox;
            work.sandbox = (struct sandbox){0};
            return 0;
        }
        if (wait_while_busy(worker, give_up_ms, err) < 0) {
            sandbox_tell_refused(worker->db, work.sandbox.team_id, *err);
            return work_public_error(&work, err);
        }
    }
}
