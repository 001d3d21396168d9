/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sandbox/sandbox_room.h"

#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "sandbox/lifecycle_steps.h"

/* *gone: another process has finished the removal. */
static int open_removal(struct worker *worker, struct work *work, bool *gone, struct error **err)
{
    if (sandbox_get_any(worker->db, work->operation.sandbox_id, false, &work->sandbox, err) < 0)
        return -1;
    *gone = strcmp(work->sandbox.operation_id, work->operation.id) != 0;
    if (*gone)
        return operation_drop(worker->db, work->operation.id, "superseded", err);
    work_start(work, worker);
    return 0;
}

/* Remove the instance of one deleted sandbox, if a removal is due. *worked: a removal was due. */
static int sandbox_remove_next(struct worker *worker, bool *worked, struct error **err)
{
    work_auto work = {.worker = worker};
    bool gone;
    *worked = false;
    if (operation_take_overdue(worker->db, worker->lease_owner, worker->settings->lease_s,
                               OPERATIONS_REMOVAL, &work.operation, err) < 0)
        return -1;
    *worked = work.operation.id[0];
    if (!*worked)
        return 0;
    if (open_removal(worker, &work, &gone, err) < 0 || (!gone && work_run_destroy(&work, err) < 0))
        return error_context(err, "sandbox %s", work.operation.sandbox_id);
    return 0;
}

/* A dispatcher repeats a removal that failed; the caller does not fail with it. */
int sandbox_room_step(struct worker *worker, struct error **err)
{
    bool worked;
    error_auto failure = NULL;
    pool_suspend_start(worker->pool);
    if (sandbox_remove_next(worker, &worked, &failure) < 0) {
        if (!worked)
            return error_move(err, &failure);
        log_warning("cannot delete the instance of a deleted sandbox; a dispatcher tries again",
                    LOG_ERROR(failure));
    }
    if (!worked)
        clock_sleep_ms(SANDBOX_ROOM_POLL_MS);
    return 0;
}
