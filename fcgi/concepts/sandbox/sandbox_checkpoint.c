/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdio.h>
#include <string.h>

#include "account/usage_kept.h"
#include "base/clock.h"
#include "base/fault_point.h"
#include "base/log.h"
#include "checkpoint/checkpoint_row.h"
#include "sandbox/lifecycle_steps.h"

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
        .cpu = sandbox->shape.cpu,
        .memory_mb = sandbox->shape.memory_mb,
        .disk_gb = sandbox->shape.disk_gb,
        .host_id = sandbox->host_id,
        .created_at_ms = clock_now_ms(),
    };
    id_new("ckp_", checkpoint->id);
    memcpy(checkpoint->team_id, sandbox->team_id, sizeof checkpoint->team_id);
    memcpy(checkpoint->team_slug, sandbox->team_slug, sizeof checkpoint->team_slug);
    memcpy(checkpoint->sandbox_id, sandbox->id, sizeof checkpoint->sandbox_id);
    memcpy(checkpoint->template_slug, sandbox->template_slug, sizeof checkpoint->template_slug);
    memcpy(checkpoint->template_version_id, sandbox->template_version_id,
           sizeof checkpoint->template_version_id);
    memcpy(checkpoint->parent_id, sandbox->snapshot_id, sizeof checkpoint->parent_id);
    snprintf(checkpoint->created_by, sizeof checkpoint->created_by, "%s", making->request->user_id);
    snprintf(checkpoint->name, sizeof checkpoint->name, "%s", making->request->name);
    snprintf(checkpoint->instance_name, sizeof checkpoint->instance_name, "ckp-%s",
             checkpoint->id + strlen("ckp_"));
}

/* The team's lock orders those who count, so that the plan's number is never passed. */
static int check_quota(struct db *db, const struct sandbox *sandbox, struct error **err)
{
    struct quota quota;
    struct plan plan;
    unsigned count;
    if (team_lock(db, sandbox->team_id, &plan, err) < 0 ||
        checkpoint_count(db, sandbox->team_id, &count, err) < 0 ||
        quota_read(db, sandbox->team_id, &plan, &sandbox->shape, &quota, err) < 0)
        return -1;
    if (count < plan.checkpoints)
        return 0;
    error_set(err, ERR_SANDBOX_QUOTA_EXCEEDED,
              "The team's plan %s allows no more checkpoints than the %u that it has; delete one "
              "first.",
              plan.name, count);
    return error_add_detail(err, "quota", quota_to_json(&quota));
}

/* With the sandbox's row locked. In another state than ready the move itself is refused. */
static int admit(struct db *db, struct sandbox *sandbox, void *context, struct error **err)
{
    struct making *making = context;
    const struct checkpoint_create *request = making->request;
    if (sandbox->state != SANDBOX_READY)
        return 0;
    plan_checkpoint(making, sandbox);
    if (check_quota(db, sandbox, err) < 0 || host_disk_reserve(db, sandbox->host_id, 0, err) < 0 ||
        checkpoint_row_insert(db, making->checkpoint, err) < 0)
        return -1;
    return request->claim ? request->claim(db, making->checkpoint->id, request->claim_context, err)
                          : 0;
}

/* --- ending --- */

/* With the move back to ready. */
static int keep(struct db *db, void *context, struct error **err)
{
    struct checkpoint *checkpoint = context;
    if (checkpoint_row_ready(db, checkpoint, err) < 0)
        return -1;
    return usage_checkpoint_begin(db, checkpoint->id, checkpoint->team_id, checkpoint->size_mb,
                                  err);
}

static int give_up(struct db *db, void *context, struct error **err)
{
    const struct checkpoint *checkpoint = context;
    return checkpoint_row_deleting(db, checkpoint->id, 0, err);
}

/* What is left behind of the copy is removed in the background. Others may have ended the
 * operation, a delete for one; then only the row is ours to give up. */
static int undo(struct work *work, struct checkpoint *checkpoint, struct error **failure,
                struct error **err)
{
    error_auto second = NULL;
    log_warning("checkpoint failed and is undone", LOG_STR("sandbox", work->sandbox.id),
                LOG_STR("checkpoint", checkpoint->id), LOG_ERROR(*failure));
    work->settle = give_up;
    if ((*failure)->code != ERR_LEASE_LOST &&
        work_finish(work, SANDBOX_EVENT_CHECKPOINT_FAILED, (*failure)->message, &second) < 0 &&
        second->code == ERR_LEASE_LOST) /* which explains the failure */
        error_recode(failure, ERR_LEASE_LOST);
    if ((*failure)->code == ERR_LEASE_LOST) {
        error_clear(&second);
        /* Or the dispatcher does it. */
        give_up(work->worker->db, checkpoint, &second);
    }
    if ((*failure)->code == ERR_NOT_FOUND) /* the instance, and not the sandbox */
        error_recode(failure, ERR_RUNTIME_REFUSED);
    return error_move(err, failure);
}

/* What the pool keeps for it: what the sandbox has written, on top of what it was restored from. */
static int add_parent_size(struct db *db, struct checkpoint *checkpoint, struct error **err)
{
    uint32_t parent_mb = 0;
    if (checkpoint->parent_id[0] &&
        checkpoint_row_size(db, checkpoint->parent_id, &parent_mb, err) < 0)
        return -1;
    checkpoint->size_mb += parent_mb;
    return 0;
}

static int run(struct work *work, struct checkpoint *checkpoint, struct error **err)
{
    error_auto failure = NULL;
    work->settle = keep;
    work->settle_context = checkpoint;
    fault_point(FAULT_CHECKPOINT_BEGUN);
    if (work_open_runtime(work, &failure) == 0 &&
        work->runtime->ops->copy(work->runtime, work->sandbox.instance_name,
                                 checkpoint->instance_name, RUNTIME_CHECKPOINT, checkpoint->id,
                                 &checkpoint->size_mb, &failure) == 0) {
        fault_point(FAULT_CHECKPOINT_COPIED);
        if (add_parent_size(work->worker->db, checkpoint, &failure) == 0 &&
            work_finish(work, SANDBOX_EVENT_CHECKPOINTED, NULL, &failure) == 0) {
            fault_point(FAULT_CHECKPOINT_FINISHED);
            checkpoint->state = CHECKPOINT_READY;
            return 0;
        }
    }
    return undo(work, checkpoint, &failure, err);
}

int work_undo_checkpoint(struct work *work, struct error **err)
{
    struct checkpoint checkpoint = {.id = ""};
    if (checkpoint_row_made_in(work->worker->db, work->sandbox.id, work->operation.incarnation,
                               checkpoint.id, err) < 0)
        return -1;
    work->settle = give_up;
    work->settle_context = &checkpoint;
    return work_finish(work, SANDBOX_EVENT_CHECKPOINT_FAILED,
                       "the worker that made the checkpoint is gone", err);
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
        if ((*err)->code != ERR_SANDBOX_BUSY)
            return work_public_error(&work, err);
        if (wait_while_busy(give_up_ms, err) < 0)
            return -1;
    }
}
