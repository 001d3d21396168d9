/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "audit/audit.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "checkpoint/checkpoint_removal.h"
#include "dispatcher/cleanup_row.h"
#include "sandbox/sandbox_events.h"

struct review {
    const char *id;
    struct checkpoint checkpoint;
    int64_t at_ms;
    bool remove;
};

static int decide(struct db *db, const struct checkpoint *checkpoint, int64_t now_ms,
                  int64_t *at_ms, struct error **err)
{
    struct team team;
    struct plan plan;
    if (team_get_by_slug(db, checkpoint->team_slug, &team, err) < 0 ||
        plan_get(db, team.plan, &plan, err) < 0)
        return -1;
    int64_t due_at_ms = cleanup_due(&plan, checkpoint->created_at_ms, plan.checkpoint_days, now_ms);
    *at_ms = checkpoint->cleanup_at_ms ? checkpoint->cleanup_at_ms
                                       : cleanup_after_warning(&plan, now_ms);
    if (!due_at_ms || *at_ms < due_at_ms)
        *at_ms = due_at_ms;
    return 0;
}

static int review_body(struct db *db, void *context, struct error **err)
{
    struct review *review = context;
    struct checkpoint *checkpoint = &review->checkpoint;
    int64_t now_ms = clock_now_ms();
    review->remove = false;
    if (checkpoint_get_any(db, review->id, true, checkpoint, err) < 0)
        return -1;
    review->at_ms = checkpoint->cleanup_at_ms;
    if (checkpoint->state != CHECKPOINT_READY)
        return 0;
    if (decide(db, checkpoint, now_ms, &review->at_ms, err) < 0)
        return -1;
    review->remove = checkpoint->cleanup_at_ms && review->at_ms && review->at_ms <= now_ms;
    if (review->remove || review->at_ms == checkpoint->cleanup_at_ms)
        return 0;
    if (!checkpoint->cleanup_at_ms &&
        sandbox_tell_cleanup(db, checkpoint->team_id, checkpoint->sandbox_id, review->id,
                             review->at_ms, err) < 0)
        return -1;
    return cleanup_row_set_checkpoint(db, review->id, review->at_ms, err);
}

static int review(struct worker *worker, const char *id, struct error **err)
{
    struct review review = {.id = id};
    struct audit audit;
    error_auto failure = NULL;
    if (db_transaction(worker->db, review_body, &review, err) < 0)
        return -1;
    if (!review.remove) {
        if (!review.at_ms != !review.checkpoint.cleanup_at_ms)
            log_info(review.at_ms ? "clean-up announces the deletion of a checkpoint"
                                  : "clean-up keeps a checkpoint",
                     LOG_STR("checkpoint", id), LOG_STR("team", review.checkpoint.team_slug));
        return 0;
    }
    log_warning("clean-up deletes a checkpoint", LOG_STR("checkpoint", id),
                LOG_STR("team", review.checkpoint.team_slug));
    audit_by_service(&audit, &audit_CHECKPOINT_DELETE, "clean-up");
    audit_about(&audit, id);
    audit.team_id = review.checkpoint.team_id;
    if (audit_begin(&audit, worker->db, worker->ring, err) < 0)
        return -1;
    int result = checkpoint_delete(worker, id, &failure);
    if (audit_end(&audit, failure, err) < 0)
        return -1;
    /* NOT_FOUND: its owner has deleted it meanwhile. */
    return result < 0 && failure->code != ERR_NOT_FOUND ? error_move(err, &failure) : 0;
}

static int review_old(struct worker *worker, const struct plan *plan, struct error **err)
{
    autofree struct cleanup_candidate *old = NULL;
    size_t count;
    int64_t before_ms = cleanup_old_since(plan, plan->checkpoint_days, clock_now_ms());
    if (!plan->checkpoint_days)
        return 0;
    if (cleanup_row_old_checkpoints(worker->db, plan->name, before_ms, &old, &count, err) < 0)
        return -1;
    return cleanup_review_all(worker, old, count, review, err);
}

int cleanup_checkpoints(struct worker *worker, struct error **err)
{
    autofree struct cleanup_candidate *warned = NULL;
    struct plan plans[PLANS_MAX];
    unsigned plan_count;
    size_t count;
    if (cleanup_row_warned_checkpoints(worker->db, &warned, &count, err) < 0 ||
        cleanup_review_all(worker, warned, count, review, err) < 0 ||
        plan_list(worker->db, plans, &plan_count, err) < 0)
        return -1;
    for (unsigned i = 0; i < plan_count; i++)
        if (review_old(worker, &plans[i], err) < 0)
            return -1;
    return 0;
}
