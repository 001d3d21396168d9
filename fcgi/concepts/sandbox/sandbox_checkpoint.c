/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdio.h>
#include <string.h>

#include "account/usage_kept.h"
#include "base/clock.h"
#include "base/fault_point.h"
#include "base/log.h"
#include "checkpoint/checkpoint_row.h"
#include "checkpoint/memory_image.h"
#include "moving/moving.h"
#include "sandbox/lifecycle_steps.h"
#include "sandbox/sandbox_archive.h"
#include "sandbox/sandbox_events.h"

#define STOPPED_WITHOUT "The sandbox is paused, and its memory was not saved."

struct making {
    const struct checkpoint_create *request;
    struct checkpoint *checkpoint;
};

/* --- beginning --- */

static void plan_checkpoint(struct making *making, const struct sandbox *sandbox)
{
    struct checkpoint *checkpoint = making->checkpoint;
    *checkpoint = (struct checkpoint){
        .state = CHECKPOINT_CREATING,
        .incarnation = sandbox->incarnation + 1, /* that of the move which follows */
        .virtual_machine = sandbox->virtual_machine,
        .cpu = sandbox->resources.cpu,
        .memory_mb = sandbox->resources.memory_mb,
        .disk_gb = sandbox->resources.disk_gb,
        .host_id = sandbox->host_id,
        .memory = making->request->memory,
        .for_fork = making->request->for_fork,
        .agent_key_id = sandbox->agent_key_id,
        .created_at_ms = clock_now_ms(),
    };
    id_new("ckp_", checkpoint->id);
    memcpy(checkpoint->team_id, sandbox->team_id, sizeof checkpoint->team_id);
    memcpy(checkpoint->team_slug, sandbox->team_slug, sizeof checkpoint->team_slug);
    memcpy(checkpoint->sandbox_id, sandbox->id, sizeof checkpoint->sandbox_id);
    memcpy(checkpoint->sandbox_name, sandbox->name, sizeof sandbox->name);
    memcpy(checkpoint->template_slug, sandbox->template_slug, sizeof checkpoint->template_slug);
    memcpy(checkpoint->template_version_id, sandbox->template_version_id,
           sizeof checkpoint->template_version_id);
    memcpy(checkpoint->agent_instance, sandbox->instance_name, sizeof checkpoint->agent_instance);
    if (!*sandbox->forked_from) /* that of a fork is hidden */
        memcpy(checkpoint->parent_id, sandbox->snapshot_id, sizeof checkpoint->parent_id);
    snprintf(checkpoint->created_by, sizeof checkpoint->created_by, "%s", making->request->user_id);
    const char *name = making->request->name;
    snprintf(checkpoint->name, sizeof checkpoint->name, "%s%s", name ? name : CHECKPOINT_UNNAMED,
             name ? "" : checkpoint->id + strlen("ckp_"));
    /* For a fork this is a snapshot, which fcgi/host/helper/btrfs recognizes by its name. */
    snprintf(checkpoint->instance_name, sizeof checkpoint->instance_name, "%s-%s",
             checkpoint->for_fork ? "fork" : "ckp", checkpoint->id + strlen("ckp_"));
}

/* The lock on the team serialises the counting, so that no two checkpoints exceed the plan
 * together. */
static int check_quota(struct db *db, const struct sandbox *sandbox, struct error **err)
{
    struct plan plan;
    unsigned count;
    if (team_lock(db, sandbox->team_id, &plan, err) < 0 ||
        checkpoint_count(db, sandbox->team_id, &count, err) < 0)
        return -1;
    if (count < plan.checkpoints)
        return 0;
    error_set(err, ERR_CHECKPOINT_QUOTA_EXCEEDED,
              "The team's plan %s allows %u checkpoints, and all exist; delete one first.",
              plan.name, count);
    return error_add_limit(err, plan.checkpoints, count);
}

static int no_memory(struct error **err, const char *sentence)
{
    return error_set(err, ERR_MEMORY_NOT_KEPT, "%s", sentence);
}

static int check_memory(const struct sandbox *sandbox, struct error **err)
{
    if (sandbox->virtual_machine)
        return no_memory(err, "A checkpoint of a virtual machine cannot have its memory.");
    if (sandbox_has_volumes(sandbox))
        return no_memory(err, "A checkpoint of a sandbox with volumes cannot have its memory.");
    if (sandbox->state == SANDBOX_STOPPED && sandbox->memory_left)
        return no_memory(err, STOPPED_WITHOUT);
    return 0;
}

static int take_room(struct db *db, const struct checkpoint *checkpoint, struct error **err)
{
    const struct memory_image image = {.id = checkpoint->id,
                                       .team_id = checkpoint->team_id,
                                       .user_id = checkpoint->created_by,
                                       .host_id = checkpoint->host_id,
                                       .size_mb = checkpoint->memory_mb};
    return checkpoint->memory ? memory_image_take(db, &image, err)
                              : host_disk_reserve(db, checkpoint->host_id, 0, err);
}

/* A sandbox that was paused only to move runs again soon. */
static int refuse_paused(struct db *db, const struct sandbox *sandbox, struct error **err)
{
    bool goes_on;
    if (move_goes_on(db, sandbox->id, &goes_on, err) < 0)
        return -1;
    return goes_on ? error_set(err, ERR_SANDBOX_BUSY,
                               "The sandbox is moving to another host, and resumes there by "
                               "itself.")
                   : error_set(err, ERR_SANDBOX_NOT_RUNNING, "The sandbox is paused.");
}

/* With the sandbox's row locked. In other states the move itself is refused. */
static int admit(struct db *db, struct sandbox *sandbox, void *context, struct error **err)
{
    struct making *making = context;
    const struct checkpoint_create *request = making->request;
    if (sandbox->state == SANDBOX_STOPPED && !request->memory)
        return refuse_paused(db, sandbox, err);
    if (sandbox->state != SANDBOX_READY && sandbox->state != SANDBOX_STOPPED)
        return 0;
    if (request->memory && check_memory(sandbox, err) < 0)
        return -1;
    plan_checkpoint(making, sandbox);
    if ((*making->checkpoint->name && check_quota(db, sandbox, err) < 0) ||
        take_room(db, making->checkpoint, err) < 0 ||
        checkpoint_row_insert(db, making->checkpoint, err) < 0)
        return -1;
    return request->claim ? request->claim(db, making->checkpoint->id, request->claim_context, err)
                          : 0;
}

/* --- ending --- */

/* In the transaction that moves the sandbox back to ready. */
static int keep(struct db *db, void *context, struct error **err)
{
    struct checkpoint *checkpoint = context;
    if (checkpoint_row_ready(db, checkpoint, err) < 0)
        return -1;
    if (!checkpoint->name[0])
        return 0;
    return usage_checkpoint_begin(db, checkpoint->id, checkpoint->team_id, checkpoint->size_mb,
                                  err);
}

static int give_up(struct db *db, void *context, struct error **err)
{
    const struct checkpoint *checkpoint = context;
    return checkpoint_row_deleting(db, checkpoint->id, 0, err);
}

/* Let the frozen sandbox continue. */
static int let_go_on(struct work *work, const struct checkpoint *checkpoint, struct error **err)
{
    if (!checkpoint->memory || !work->runtime)
        return 0;
    return work->runtime->ops->memory->undo_copy(work->runtime, work->sandbox.instance_name,
                                                 checkpoint->instance_name, err);
}

/* Undo a failed checkpoint. The leftovers of the copy are removed in the background. When another
 * process (a delete, for example) has ended the operation, only the checkpoint's row is left to
 * give up. */
static int undo(struct work *work, struct checkpoint *checkpoint, struct error **failure,
                struct error **err)
{
    error_auto second = NULL;
    log_warning("cannot make a checkpoint; undoing it", SANDBOX_LOG(&work->sandbox),
                LOG_STR("checkpoint", checkpoint->id), LOG_ERROR(*failure));
    work->settle = give_up;
    if ((*failure)->code != ERR_LEASE_LOST && let_go_on(work, checkpoint, &second) < 0) {
        work_defer(work, second);
        return error_move(err, failure);
    }
    if ((*failure)->code == ERR_MEMORY_NOT_KEPT && work->sandbox.state == SANDBOX_COPYING) {
        error_clear(failure);
        error_set(failure, ERR_SANDBOX_NOT_RUNNING, STOPPED_WITHOUT);
    }
    if ((*failure)->code != ERR_LEASE_LOST &&
        work_finish(work, SANDBOX_EVENT_CHECKPOINT_FAILED, *failure, &second) < 0 &&
        second->code == ERR_LEASE_LOST) /* this explains the failure */
        error_recode(failure, ERR_LEASE_LOST);
    if ((*failure)->code == ERR_LEASE_LOST) {
        error_clear(&second);
        /* If this fails, the dispatcher does it. */
        give_up(work->worker->db, checkpoint, &second);
    }
    if ((*failure)->code == ERR_NOT_FOUND) /* the instance, not the sandbox */
        error_recode(failure, ERR_RUNTIME_REFUSED);
    return error_move(err, failure);
}

/* Compute the size in the storage pool: the data that the sandbox has written, and the size of the
 * checkpoint from which it was restored. */
static int add_parent_size(struct work *work, struct checkpoint *checkpoint, struct error **err)
{
    uint32_t parent_mb = 0;
    if (checkpoint_row_size(work->worker->db, work->sandbox.snapshot_id, &parent_mb, err) < 0)
        return -1;
    checkpoint->size_mb += parent_mb;
    return 0;
}

static int copy(struct work *work, struct checkpoint *checkpoint, struct error **err)
{
    struct runtime *runtime = work->runtime;
    const char *name = work->sandbox.instance_name;
    if (work->sandbox.state == SANDBOX_COPYING && work_fetch_archived(work, err) < 0)
        return -1;
    /* A sandbox from the archive is on the host now. */
    if (work_tell_size(work, err) < 0 || work_wait_for_turn(work, err) < 0)
        return -1;
    if (checkpoint->for_fork)
        return runtime->ops->memory->snapshot(runtime, name, checkpoint->instance_name, err);
    if (checkpoint->memory)
        return runtime->ops->memory->copy(runtime, name, checkpoint->instance_name, checkpoint->id,
                                          &checkpoint->size_mb, err);
    return runtime->ops->copy(runtime, name, checkpoint->instance_name, RUNTIME_CHECKPOINT,
                              checkpoint->id, &checkpoint->size_mb, err);
}

static int run(struct work *work, struct checkpoint *checkpoint, struct error **err)
{
    error_auto failure = NULL;
    work->settle = keep;
    work->settle_context = checkpoint;
    fault_point(FAULT_CHECKPOINT_BEGUN);
    if (work_open_runtime(work, &failure) == 0 && copy(work, checkpoint, &failure) == 0) {
        fault_point(FAULT_CHECKPOINT_COPIED);
        if (add_parent_size(work, checkpoint, &failure) == 0 &&
            work_finish(work, SANDBOX_EVENT_CHECKPOINTED, NULL, &failure) == 0) {
            fault_point(FAULT_CHECKPOINT_FINISHED);
            checkpoint->state = checkpoint_state_made(checkpoint);
            return 0;
        }
    }
    return undo(work, checkpoint, &failure, err);
}

int work_undo_checkpoint(struct work *work, struct error **err)
{
    struct checkpoint checkpoint = {.id = ""};
    struct db *db = work->worker->db;
    char id[ID_SIZE];
    if (checkpoint_row_made_in(db, work->sandbox.id, work->operation.incarnation, id, err) < 0 ||
        (*id && checkpoint_get_any(db, id, false, &checkpoint, err) < 0))
        return -1;
    if (checkpoint.memory &&
        (work_open_runtime(work, err) < 0 || let_go_on(work, &checkpoint, err) < 0)) {
        work_defer(work, *err);
        return -1;
    }
    work->settle = give_up;
    work->settle_context = &checkpoint;
    error_auto gone = NULL;
    error_set(&gone, ERR_INTERNAL, "the process that made the checkpoint died");
    return work_finish(work, SANDBOX_EVENT_CHECKPOINT_FAILED, gone, err);
}

int sandbox_checkpoint(struct worker *worker, const char *id,
                       const struct checkpoint_create *request, struct checkpoint *checkpoint,
                       struct error **err)
{
    int64_t give_up_ms = clock_monotonic_ms() + (int64_t)worker->settings->resume_wait_s * 1000;
    struct making making = {request, checkpoint};
    for (;;) {
        work_auto work = {.worker = worker};
        if (work_begin(&work, worker, id, SANDBOX_EVENT_CHECKPOINT, OPERATION_CHECKPOINT, admit,
                       &making, err) == 0)
            return run(&work, checkpoint, err) < 0 ? work_public_error(&work, err) : 0;
        if (wait_while_busy(worker, give_up_ms, err) < 0) {
            sandbox_tell_refused(worker->db, work.sandbox.team_id, *err);
            return work_public_error(&work, err);
        }
    }
}
