/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the dispatcher does with rows: deadlines, and operations whose lease owner is gone. */
#include "base/panic.h"
#include "dispatcher/jobs.h"

#include <string.h>

#include "base/clock.h"
#include "base/fault_point.h"
#include "base/log.h"
#include "base/notify.h"
#include "sandbox/lifecycle_steps.h"
#include "sandbox/sandbox_row.h"

/* Removals wait while clients are answered, for so long in a row. */
#define REMOVALS_REST_MS 5000
/* After so many others in a row comes a removal, if there is one. */
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
    case OPERATION_CHECKPOINT:
        return work_undo_checkpoint(work, err);
    case OPERATION_DESTROY:
        return work_run_destroy(work, err);
    case OPERATION_CREATE:
        /* Nobody was told of this sandbox: it is removed, not finished. */
        error_set(err, ERR_RUNTIME_UNAVAILABLE, "the worker that created it is gone");
        work_undo_create(work, err);
        error_clear(err);
        return 0;
    }
    panic("an operation is of no known kind");
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
    sandbox->memory_left = !sandbox->pause_memory;
    return work_begin_locked(work, db, kill ? SANDBOX_EVENT_DELETE : SANDBOX_EVENT_PAUSE,
                             kill ? OPERATION_DESTROY : OPERATION_PAUSE, err);
}

/* A firewall that hangs must not keep the deadlines that follow: for a while they leave the cut to
 * whoever stops the instance. */
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

int sandbox_expire_next(struct worker *worker, bool *worked, struct error **err)
{
    work_auto work = {.worker = worker, .queued = true};
    *worked = false;
    if (db_transaction(worker->db, expire_body, &work, err) < 0)
        return -1;
    if (!work.sandbox.id[0])
        return 0;
    *worked = true;
    if (work.sandbox.state == SANDBOX_DESTROYING)
        cut_off_quickly(&work);
    else
        notify_send(worker->settings->api_socket, NOTIFY_OPERATIONS);
    log_info("deadline", LOG_STR("sandbox", work.sandbox.id),
             LOG_STR("on_timeout", on_timeout_name(work.sandbox.on_timeout)),
             LOG_STR("operation", work.operation.id));
    return 0;
}

/* --- operations without a lease owner --- */

static int removals_rest(struct worker *worker, bool *rest, struct error **err)
{
    static int64_t since_ms; /* monotonic; 0: nobody is answered */
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

static int take(struct worker *worker, bool urgent, struct work *work, struct error **err)
{
    return operation_take_overdue(worker->db, worker->lease_owner, worker->settings->lease_s,
                                  urgent, &work->operation, err);
}

/* What somebody waits for comes before removals, of which there may be hundreds. */
static int take_next(struct worker *worker, struct work *work, struct error **err)
{
    static unsigned urgent_in_a_row;
    bool rest;
    if (urgent_in_a_row < URGENT_MOST) {
        if (take(worker, true, work, err) < 0)
            return -1;
        if (work->operation.id[0]) {
            urgent_in_a_row++;
            return 0;
        }
    }
    urgent_in_a_row = 0;
    if (removals_rest(worker, &rest, err) < 0)
        return -1;
    return rest ? 0 : take(worker, false, work, err);
}

int sandbox_recover_next(struct worker *worker, bool *worked, struct error **err)
{
    work_auto work = {.worker = worker};
    *worked = false;
    if (take_next(worker, &work, err) < 0)
        return -1;
    if (!work.operation.id[0])
        return 0;
    *worked = true;
    if (sandbox_get_any(worker->db, work.operation.sandbox_id, false, &work.sandbox, err) < 0)
        return -1;
    if (strcmp(work.sandbox.operation_id, work.operation.id))
        return operation_end(worker->db, &work.operation, "superseded", "", err);
    work_start(&work, worker);
    return run(&work, err);
}
