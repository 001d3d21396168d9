/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "dispatcher/cleanup.h"

#include "archive/archive.h"
#include "audit/audit.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "dispatcher/cleanup_row.h"
#include "host/host.h"
#include "sandbox/lifecycle_steps.h"
#include "sandbox/sandbox_events.h"
#include "sandbox/sandbox_row.h"
#include "worker/sweep_failure.h"

int64_t cleanup_due(const struct plan *plan, int64_t since_ms, uint32_t days, int64_t now_ms)
{
    int64_t due_at_ms = since_ms + days * CLEANUP_DAY_MS;
    return days && since_ms <= cleanup_old_since(plan, days, now_ms) ? due_at_ms : 0;
}

int64_t cleanup_after_warning(const struct plan *plan, int64_t now_ms)
{
    return now_ms + plan->cleanup_warning_hours * CLEANUP_HOUR_MS;
}

int64_t cleanup_old_since(const struct plan *plan, uint32_t days, int64_t now_ms)
{
    return cleanup_after_warning(plan, now_ms) - days * CLEANUP_DAY_MS;
}

static int exceeds(struct db *db, const struct plan *plan, const struct sandbox *sandbox,
                   bool *exceeding, struct error **err)
{
    uint64_t before, stopped;
    if (cleanup_row_position(db, sandbox, &before, &stopped, err) < 0)
        return -1;
    *exceeding = stopped > plan->stopped_sandboxes && before < stopped - plan->stopped_sandboxes;
    return 0;
}

/* Check whether the sandbox is lost with its host. One in the archive resumes on another host. */
static int is_lost(struct db *db, const struct sandbox *sandbox, bool *lost, struct error **err)
{
    bool archived = false;
    if (host_is_lost(db, sandbox->host_id, lost, err) < 0 ||
        (*lost && archive_has(db, sandbox->id, &archived, err) < 0))
        return -1;
    *lost &= !archived;
    return 0;
}

/* Decide when the sandbox is to be deleted; 0: it stays. A warning that still applies keeps its
 * time. */
static int decide(struct db *db, const struct sandbox *sandbox, int64_t now_ms, int64_t *at_ms,
                  struct error **err)
{
    struct team team;
    struct plan plan;
    bool exceeding, lost;
    if (is_lost(db, sandbox, &lost, err) < 0 ||
        team_get_by_slug(db, sandbox->team_slug, &team, err) < 0 ||
        plan_get(db, team.plan, &plan, err) < 0 || exceeds(db, &plan, sandbox, &exceeding, err) < 0)
        return -1;
    int64_t due_at_ms = cleanup_due(&plan, sandbox->stopped_at_ms, plan.stopped_days, now_ms);
    *at_ms = 0;
    if (!exceeding && !due_at_ms && !lost)
        return 0;
    *at_ms = sandbox->cleanup_at_ms ? sandbox->cleanup_at_ms : cleanup_after_warning(&plan, now_ms);
    if (!exceeding && *at_ms < due_at_ms)
        *at_ms = due_at_ms;
    return 0;
}

struct review {
    struct work work;
    struct audit audit;
    const char *id;
    bool removed;
    int64_t was_ms, at_ms;
};

static int remove_recorded(struct review *review, struct db *db, struct error **err)
{
    struct audit *audit = &review->audit;
    audit_by_service(audit, &audit_SANDBOX_DELETE, "clean-up");
    audit_about(audit, review->id);
    audit->team_id = review->work.sandbox.team_id;
    if (audit_begin(audit, db, review->work.worker->ring, err) < 0)
        return -1;
    return work_begin_locked(&review->work, db, SANDBOX_EVENT_DELETE, OPERATION_DESTROY, err);
}

static int review_body(struct db *db, void *context, struct error **err)
{
    struct review *review = context;
    struct sandbox *sandbox = &review->work.sandbox;
    int64_t now_ms = clock_now_ms();
    review->removed = false;
    review->was_ms = review->at_ms = 0;
    sandbox_deinit(sandbox);
    if (sandbox_get_any(db, review->id, true, sandbox, err) < 0)
        return -1;
    if (!sandbox_stays_paused(sandbox))
        return 0;
    review->was_ms = sandbox->cleanup_at_ms;
    if (decide(db, sandbox, now_ms, &review->at_ms, err) < 0)
        return -1;
    sandbox->cleanup_at_ms = review->at_ms;
    /* Do not delete it in the same step as its warning, however short the warning time is. */
    if (review->was_ms && review->at_ms && review->at_ms <= now_ms) {
        review->removed = true;
        return remove_recorded(review, db, err);
    }
    if (review->at_ms == review->was_ms)
        return 0;
    if (!review->was_ms &&
        sandbox_tell_cleanup(db, sandbox->team_id, sandbox->id, NULL, review->at_ms, err) < 0)
        return -1;
    return sandbox_row_update(db, sandbox, err);
}

static int review(struct worker *worker, const char *id, struct error **err)
{
    struct review review = {.work = {.worker = worker, .queued = true}, .id = id};
    int result = db_transaction(worker->db, review_body, &review, err);
    audit_leave(&review.audit);
    if (result == 0 && review.removed)
        log_warning("clean-up deletes a sandbox", LOG_STR("sandbox", id),
                    LOG_NAME("sandbox_name", review.work.sandbox.name),
                    LOG_STR("team", review.work.sandbox.team_slug));
    else if (result == 0 && !review.was_ms != !review.at_ms)
        log_info(review.at_ms ? "clean-up announces the deletion of a sandbox"
                              : "clean-up keeps a sandbox",
                 LOG_STR("sandbox", id), LOG_NAME("sandbox_name", review.work.sandbox.name),
                 LOG_STR("team", review.work.sandbox.team_slug));
    work_deinit(&review.work);
    return result;
}

int cleanup_review_all(struct worker *worker, const struct cleanup_candidate *candidates,
                       size_t count, cleanup_review *review_one, struct error **err)
{
    int64_t until_ms = clock_monotonic_ms() + CLEANUP_MOST_MS;
    unsigned failures = 0;
    size_t i = 0;
    while (i < count && failures < SWEEP_FAILURES_MAX && clock_monotonic_ms() < until_ms) {
        const char *id = candidates[i++].id;
        if (sweep_rests(id) || review_one(worker, id, err) == 0)
            continue;
        if (!sweep_passes_over(&failures, id, err))
            return -1;
        sweep_rest(id);
    }
    return 0;
}

static int review_old(struct worker *worker, struct error **err)
{
    struct plan plans[PLANS_MAX];
    unsigned plan_count;
    int64_t now_ms = clock_now_ms();
    if (plan_list(worker->db, plans, &plan_count, err) < 0)
        return -1;
    for (unsigned i = 0; i < plan_count; i++) {
        autofree struct cleanup_candidate *candidates = NULL;
        size_t count;
        int64_t before_ms = cleanup_old_since(&plans[i], plans[i].stopped_days, now_ms);
        if (plans[i].stopped_days &&
            (cleanup_row_old(worker->db, plans[i].name, before_ms, &candidates, &count, err) < 0 ||
             cleanup_review_all(worker, candidates, count, review, err) < 0))
            return -1;
    }
    return 0;
}

int cleanup_sweep(struct worker *worker, struct error **err)
{
    autofree struct cleanup_candidate *warned = NULL, *excess = NULL;
    size_t warned_count, excess_count;
    if (cleanup_row_warned(worker->db, &warned, &warned_count, err) < 0 ||
        cleanup_review_all(worker, warned, warned_count, review, err) < 0 ||
        review_old(worker, err) < 0)
        return -1;
    if (cleanup_row_excess(worker->db, &excess, &excess_count, err) < 0)
        return -1;
    if (cleanup_review_all(worker, excess, excess_count, review, err) < 0)
        return -1;
    return cleanup_checkpoints(worker, err);
}
