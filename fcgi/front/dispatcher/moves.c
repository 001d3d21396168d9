/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Moves of running sandboxes, checkpoints, volumes and template sources. (Paused sandboxes:
 * sandbox/sandbox_move.c.) */
#include "checkpoint/checkpoint_move.h"
#include "dispatcher/jobs.h"
#include "sandbox/sandbox_move_running.h"
#include "template/template_move.h"
#include "volume/volume_move.h"

static int run(struct moving *moving, struct error **err)
{
    static const struct mover *const movers[] = {
        [MOVE_CHECKPOINT] = &checkpoint_mover,
        [MOVE_VOLUME] = &volume_mover,
        [MOVE_TEMPLATE] = &template_mover,
    };
    if (moving->move.kind == MOVE_SANDBOX)
        return sandbox_move_running(moving, err);
    return moving_run(moving, movers[moving->move.kind], err);
}

static int next(struct worker *worker, bool asked, bool *worked, struct error **err)
{
    struct moving moving = {.worker = worker};
    uint64_t lease_s = worker->settings->lease_s;
    *worked = false;
    if (move_take(worker->db, worker->lease_owner, lease_s, asked, &moving.move, err) < 0)
        return -1;
    if (!moving.move.id[0])
        return 0;
    *worked = true;
    move_keep(worker->db, &moving.move, lease_s, &moving.lease);
    return run(&moving, err);
}

int move_asked_next(struct worker *worker, bool *worked, struct error **err)
{
    return next(worker, true, worked, err);
}

int move_next(struct worker *worker, bool *worked, struct error **err)
{
    return next(worker, false, worked, err);
}

/* Templates come first: nothing starts on another host without its template. Volumes come next,
 * because their sandboxes cannot move before them. */
int move_drain_next(struct worker *worker, bool *worked, struct error **err)
{
    static const struct move_start *const starts[] = {
        &template_move_start,
        &volume_move_start,
        &checkpoint_move_start,
        &sandbox_move_running_start,
    };
    *worked = false;
    for (size_t i = 0; i < sizeof starts / sizeof starts[0] && !*worked; i++)
        if (moving_begin_leaving(worker, starts[i], worked, err) < 0)
            return -1;
    return *worked ? move_next(worker, worked, err) : 0;
}
