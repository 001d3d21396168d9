/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Deadlines of sandboxes, and operations whose lease owner has died. */
#include "base/panic.h"
#include "dispatcher/idle.h"
#include "dispatcher/jobs.h"

#include <stdio.h>
#include <string.h>

#include "audit/audit.h"
#include "base/clock.h"
#include "base/fault_point.h"
#include "base/log.h"
#include "base/notify.h"
#include "base/str.h"
#include "sandbox/lifecycle_steps.h"
#include "sandbox/sandbox_row.h"

/* Removals wait while requests wait for an answer, but no longer than this in a row. */
#define REMOVALS_REST_MS 5000
/* After so many urgent operations in a row the dispatcher takes a removal, if there is one. */
#define URGENT_MOST     16
#define CUT_OFF_MOST_MS 200
#define CUT_OFF_REST_MS 10000

static int run(struct work *work, struct error **err)
{
    switch (work->operation.kind) {
    case OPERATION_PAUSE:
        return work_run_pause(work, err);
    case OPERATION_RESUME:
        return work_run_resume(work, err);
    case OPERATION_ROLLBACK:
        return work_run_rollback(work, err);
    case OPERATION_CHECKPOINT:
        return work_undo_checkpoint(work, err);
    case OPERATION_FORK:
        return work_run_fork(work, err);
    case OPERATION_MOVE:
        return work_run_move(work, err);
    case OPERATION_DESTROY:
        return work_run_destroy(work, err);
    case OPERATION_CREATE:
        /* The client never got this sandbox, so it is removed and not finished. */
        error_set(err, ERR_RUNTIME_UNAVAILABLE, "the process that created it died");
        work_undo_create(work, err);
        error_clear(err);
        return 0;
    }
    panic("an operation is of no known kind");
}

/* --- deadlines and idle sandboxes --- */

struct expire {
    struct work work;
    struct audit audit;
};

static int begin_recorded(struct expire *expire, struct db *db, bool kill, const char *cause,
                          struct error **err)
{
    struct work *work = &expire->work;
    struct audit *audit = &expire->audit;
    work->sandbox.memory_left = !work->sandbox.pause_memory;
    snprintf(work->sandbox.moved_by, sizeof work->sandbox.moved_by, "%s", cause);
    audit_by_service(audit, kill ? &audit_SANDBOX_DELETE : &audit_SANDBOX_PAUSE, cause);
    audit_about(audit, work->sandbox.id);
    audit->team_id = work->sandbox.team_id;
    if (audit_begin(audit, db, work->worker->ring, err) < 0)
        return -1;
    return work_begin_locked(work, db, kill ? SANDBOX_EVENT_DELETE : SANDBOX_EVENT_PAUSE,
                             kill ? OPERATION_DESTROY : OPERATION_PAUSE, err);
}

static int expire_body(struct db *db, void *context, struct error **err)
{
    struct expire *expire = context;
    struct sandbox *sandbox = &expire->work.sandbox;
    char id[ID_SIZE];
    sandbox_deinit(sandbox);
    if (sandbox_row_lock_due(db, id, err) < 0)
        return -1;
    if (!id[0])
        return 0;
    if (sandbox_get_any(db, id, true, sandbox, err) < 0)
        return -1;
    fault_point(FAULT_DEADLINE_EXPIRING);
    bool kill = sandbox->on_timeout == ON_TIMEOUT_KILL;
    return begin_recorded(expire, db, kill, MOVED_BY_DEADLINE, err);
}

/* Cut the network of an expired sandbox. After a slow firewall call, skip this for a while: the
 * next deadlines must not wait, and the operation cuts the network later. */
static void cut_off_quickly(struct work *work)
{
    static int64_t not_before_ms;
    int64_t begun_ms = clock_monotonic_ms();
    if (begun_ms < not_before_ms)
        return;
    work_cut_off(work);
    if (clock_monotonic_ms() - begun_ms > CUT_OFF_MOST_MS)
        not_before_ms = clock_monotonic_ms() + CUT_OFF_REST_MS;
}

static void follow(struct expire *expire)
{
    struct work *work = &expire->work;
    if (work->sandbox.state == SANDBOX_DESTROYING)
        cut_off_quickly(work);
    else
        notify_send(work->worker->settings->api_socket, NOTIFY_OPERATIONS);
    log_info("the deadline of a sandbox has come", SANDBOX_LOG(&work->sandbox),
             LOG_STR("on_timeout", on_timeout_name(work->sandbox.on_timeout)),
             LOG_STR("operation", work->operation.id));
}

int sandbox_expire_next(struct worker *worker, bool *worked, struct error **err)
{
    struct expire expire = {.work = {.worker = worker, .queued = true}};
    *worked = false;
    int result = db_transaction(worker->db, expire_body, &expire, err);
    *worked = result == 0 && expire.work.sandbox.id[0];
    audit_leave(&expire.audit);
    if (*worked)
        follow(&expire);
    work_deinit(&expire.work);
    return result;
}

struct idle {
    struct expire expire;
    const struct sandbox_ready *ready;
};

static int idle_body(struct db *db, void *context, struct error **err)
{
    struct idle *idle = context;
    const struct sandbox_ready *ready = idle->ready;
    struct sandbox *sandbox = &idle->expire.work.sandbox;
    sandbox_deinit(sandbox);
    if (sandbox_get_any(db, ready->id, true, sandbox, err) < 0)
        return -1;
    fault_point(FAULT_IDLE_PAUSING);
    if (idle_is_current(ready, sandbox))
        return begin_recorded(&idle->expire, db, false, MOVED_BY_IDLENESS, err);
    sandbox_deinit(sandbox);
    return 0;
}

int sandbox_pause_idle(struct worker *worker, const struct sandbox_ready *ready, struct error **err)
{
    struct idle idle = {.expire.work = {.worker = worker, .queued = true}, .ready = ready};
    struct work *work = &idle.expire.work;
    int result = db_transaction(worker->db, idle_body, &idle, err);
    audit_leave(&idle.expire.audit);
    if (result == 0 && work->sandbox.id[0]) {
        notify_send(worker->settings->api_socket, NOTIFY_OPERATIONS);
        log_info("pausing an idle sandbox", SANDBOX_LOG(&work->sandbox),
                 LOG_STR("operation", work->operation.id));
    }
    work_deinit(work);
    return result;
}

/* --- operations without a lease owner --- */

static int removals_rest(struct worker *worker, bool *rest, struct error **err)
{
    static int64_t since_ms; /* monotonic; 0: no request waits for an answer */
    int64_t now_ms = clock_monotonic_ms();
    if (operation_answers_wait(worker->db, rest, err) < 0)
        return -1;
    if (!*rest)
        since_ms = 0;
    else if (!since_ms)
        since_ms = now_ms;
    *rest = *rest && now_ms - since_ms < REMOVALS_REST_MS;
    return 0;
}

static int take(struct worker *worker, enum operation_class class, struct work *work,
                struct error **err)
{
    return operation_take_overdue(worker->db, worker->lease_owner, worker->settings->lease_s, class,
                                  &work->operation, err);
}

/* Take an operation that a request waits for, before removals, which may be hundreds. */
static int take_next(struct worker *worker, struct work *work, struct error **err)
{
    static unsigned urgent_in_a_row;
    bool rest;
    if (urgent_in_a_row < URGENT_MOST) {
        if (take(worker, OPERATIONS_URGENT, work, err) < 0)
            return -1;
        if (work->operation.id[0]) {
            urgent_in_a_row++;
            return 0;
        }
    }
    urgent_in_a_row = 0;
    if (removals_rest(worker, &rest, err) < 0)
        return -1;
    return rest ? 0 : take(worker, OPERATIONS_ANY, work, err);
}

/* Record the end of an operation that another process started. For a removal the audit log has the
 * end already. */
static int record(const struct work *work, struct error **err)
{
    static const struct audit_action *const actions[] = {
        [OPERATION_CREATE] = &audit_SANDBOX_CREATE,
        [OPERATION_PAUSE] = &audit_SANDBOX_PAUSE,
        [OPERATION_RESUME] = &audit_SANDBOX_RESUME,
        [OPERATION_ROLLBACK] = &audit_SANDBOX_ROLLBACK,
        [OPERATION_CHECKPOINT] = &audit_CHECKPOINT_CREATE,
        [OPERATION_FORK] = NULL, /* is in the entry of its request */
        [OPERATION_MOVE] = &audit_SANDBOX_MOVE,
        [OPERATION_DESTROY] = NULL,
    };
    enum operation_kind kind = work->operation.kind;
    bool is_undone = kind == OPERATION_CREATE || kind == OPERATION_CHECKPOINT;
    bool is_done = !is_undone && str_equal(work->outcome, "done");
    struct audit audit;
    if (!actions[kind] || !work->outcome || str_equal(work->outcome, "deferred"))
        return 0;
    audit_by_service(&audit, actions[kind], "dispatcher");
    audit_about(&audit, work->operation.sandbox_id);
    snprintf(audit.entry.action, sizeof audit.entry.action, "%s", actions[kind]->name);
    snprintf(audit.entry.team_id, ID_SIZE, "%s", work->sandbox.team_id);
    audit.entry.result = is_done ? AUDIT_DONE : AUDIT_FAILED;
    return audit_write(work->worker->db, work->worker->ring, &audit.entry, err);
}

/* Check whether a move of a running sandbox has begun the operation. */
static bool is_of_move(const struct work *work)
{
    enum operation_kind kind = work->operation.kind;
    return (kind == OPERATION_PAUSE || kind == OPERATION_RESUME) &&
           str_equal(work->sandbox.moved_by, MOVED_BY_MOVE);
}

/* A pause or a fork leaves its hook: it can continue after the hook without its former steps. Other
 * operations run their hook here only after their worker has died. An operation can have a hook in
 * every class, because a request can add the hook after the operation was taken. */
static int go_on(struct worker *worker, struct work *work, bool *worked, struct error **err)
{
    *worked = work->operation.id[0];
    if (!*worked)
        return 0;
    work->leaves_hook =
        work->operation.kind == OPERATION_PAUSE || work->operation.kind == OPERATION_FORK;
    if (sandbox_get_any(worker->db, work->operation.sandbox_id, false, &work->sandbox, err) < 0)
        return -1;
    if (strcmp(work->sandbox.operation_id, work->operation.id))
        return operation_drop(worker->db, work->operation.id, "superseded", err);
    if (is_of_move(work))
        work_be_in_transit(work);
    work_start(work, worker);
    return run(work, err) < 0 ? -1 : record(work, err);
}

int sandbox_recover_next(struct worker *worker, bool *worked, struct error **err)
{
    work_auto work = {.worker = worker};
    *worked = false;
    return take_next(worker, &work, err) < 0 ? -1 : go_on(worker, &work, worked, err);
}

int sandbox_fork_next(struct worker *worker, bool *worked, struct error **err)
{
    work_auto work = {.worker = worker};
    *worked = false;
    return take(worker, OPERATIONS_FORK, &work, err) < 0 ? -1 : go_on(worker, &work, worked, err);
}

int sandbox_hooked_next(struct worker *worker, bool *worked, struct error **err)
{
    work_auto work = {.worker = worker};
    *worked = false;
    return take(worker, OPERATIONS_HOOKED, &work, err) < 0 ? -1 : go_on(worker, &work, worked, err);
}

int sandbox_move_next(struct worker *worker, bool *worked, struct error **err)
{
    work_auto work = {.worker = worker};
    *worked = false;
    return take(worker, OPERATIONS_MOVE, &work, err) < 0 ? -1 : go_on(worker, &work, worked, err);
}

int sandbox_drain_next(struct worker *worker, bool *worked, struct error **err)
{
    work_auto work = {.worker = worker};
    if (work_begin_leaving(&work, worker, worked, err) < 0)
        return -1;
    if (!*worked)
        return 0;
    return work_run_move(&work, err) < 0 ? -1 : record(&work, err);
}
