/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sandbox/sandbox_move_running.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/fault_point.h"
#include "base/log.h"
#include "host/host.h"
#include "sandbox/lifecycle_steps.h"
#include "sandbox/reservation.h"
#include "sandbox/sandbox_row.h"
#include "volume/volume_move.h"

#define BUSY_MS  500 /* another process works on it */
#define AGAIN_MS 2000
#define LOOK_MS  1000 /* at volumes that are moving */
/* For a dispatcher that holds the copy on one of the hosts (worker/hold.h). The sandbox is paused
 * meanwhile. */
#define HOLD_WAIT_MS 5000
/* attempts at a step, for example a resume without room; then the sandbox stays paused */
#define ATTEMPTS_MOST 60

/* The progress of the move, in its row's generation. */
enum { NOT_PAUSED, PAUSED, MOVE_TRIED };

/* --- beginning --- */

static int begin(struct db *db, void *context, struct error **err)
{
    const struct move_order *order = context;
    sandbox_auto sandbox = {0};
    struct move move = {.kind = MOVE_SANDBOX};
    enum sandbox_state next;
    if (sandbox_get_any(db, order->id, true, &sandbox, err) < 0 ||
        sandbox_state_next(sandbox.state, SANDBOX_EVENT_PAUSE, &next, err) < 0)
        return -1;
    move.from_host = sandbox.host_id;
    memcpy(move.id, sandbox.id, sizeof move.id);
    memcpy(move.group_id, sandbox.id, sizeof move.group_id);
    memcpy(move.team_id, sandbox.team_id, sizeof move.team_id);
    if (host_move_target(db, sandbox.host_id, sandbox.address, &sandbox.resources, &move.to_host,
                         err) < 0)
        return -1;
    return move.to_host
               ? move_begin(db, &move, err)
               : error_set(err, ERR_NO_CAPACITY, "No other host has room for the sandbox now.");
}

const struct move_start sandbox_move_running_start = {sandbox_row_leaving_running, begin, 32};

/* --- ending --- */

static int end_body(struct db *db, void *context, struct error **err)
{
    const struct move *move = context;
    sandbox_auto sandbox = {0};
    if (sandbox_get_any(db, move->id, true, &sandbox, err) < 0 ||
        move_check_owner(db, move, err) < 0 || move_end(db, move, err) < 0)
        return -1;
    return sandbox_row_free_stopped(db, &sandbox, err);
}

/* why "": the move is complete. */
static int end(struct moving *moving, const char *why, struct error **err)
{
    struct move *move = &moving->move;
    snprintf(move->last_error, sizeof move->last_error, "%s", why);
    if (*why)
        log_warning("cannot move a running sandbox; it stays on its host",
                    LOG_STR("sandbox", move->id), LOG_STR("reason", why));
    return db_transaction(moving->worker->db, end_body, move, err);
}

/* --- its steps --- */

static int admit_pause(struct db *db, struct sandbox *sandbox, void *context, struct error **err)
{
    (void)context;
    if (sandbox->state != SANDBOX_READY)
        return 0;
    sandbox->memory_left = false;
    snprintf(sandbox->moved_by, sizeof sandbox->moved_by, "%s", MOVED_BY_MOVE);
    return move_note(db, sandbox->id, PAUSED, sandbox->deadline_at_ms, err);
}

static int pause(struct moving *moving, struct error **err)
{
    work_auto work = {.worker = moving->worker};
    if (work_begin(&work, moving->worker, moving->move.id, SANDBOX_EVENT_PAUSE, OPERATION_PAUSE,
                   admit_pause, NULL, err) < 0)
        return -1;
    work_be_in_transit(&work);
    return work_run_pause(&work, err);
}

static int note_move(struct db *db, const char *id, struct error **err)
{
    struct move move;
    bool found;
    if (move_find(db, id, &move, &found, err) < 0)
        return -1;
    return found ? move_note(db, id, MOVE_TRIED, move.deadline_at_ms, err)
                 : error_set(err, ERR_LEASE_LOST, "the move of %s has ended", id);
}

static int carry(struct moving *moving, struct error **err)
{
    work_auto work = {.worker = moving->worker};
    int64_t give_up_ms = clock_monotonic_ms() + HOLD_WAIT_MS;
    while (work_begin_move(&work, moving->worker, moving->move.id, 0, note_move, err) < 0)
        if (wait_while_busy(moving->worker, give_up_ms, err) < 0)
            return -1;
    return work_run_move(&work, err);
}

/* A client that paused it meanwhile has deleted the move. */
static int admit_resume(struct db *db, struct sandbox *sandbox, void *context, struct error **err)
{
    const struct move *move = context;
    if (sandbox->state != SANDBOX_STOPPED)
        return 0;
    if (move_check_owner(db, move, err) < 0)
        return -1;
    sandbox->memory_left = false;
    if (work_lock_volumes(db, sandbox, err) < 0)
        return -1;
    return reservation_renew(db, sandbox, err);
}

static int volumes_stay(struct moving *moving, const char *volume_id, struct error **err)
{
    char why[MOVE_FAILURE_SIZE];
    if (move_failure(moving->worker->db, volume_id, why, err) < 0)
        return -1;
    return error_set(err, ERR_NO_CAPACITY, "cannot copy its volumes: %s", why);
}

/* Move its volumes first, unless another running sandbox mounts them. The time has no limit,
 * because no client can start the sandbox meanwhile. */
static int send_volumes(struct moving *moving, const struct sandbox *sandbox, struct error **err)
{
    struct worker *worker = moving->worker;
    char volume_id[ID_SIZE];
    uint32_t host_id;
    bool arrived = false;
    if (sandbox_row_first_volume(worker->db, sandbox, volume_id, &host_id, err) < 0)
        return -1;
    if (!*volume_id || host_id != sandbox->host_id)
        return 0;
    const struct move_order order = {.id = volume_id, .resources = sandbox->resources};
    if (moving_ask(worker, &volume_move_start, &order, err) < 0)
        return -1;
    fault_point(FAULT_MOVING_VOLUMES);
    while (!arrived) {
        struct move move;
        bool found;
        if (moving_wait(worker, volume_id, clock_monotonic_ms() + LOOK_MS, &arrived, err) < 0 ||
            moving_tick(moving, err) < 0 ||
            move_find(worker->db, volume_id, &move, &found, err) < 0)
            return -1;
        if (!arrived && (!found || move.last_error[0]))
            return volumes_stay(moving, volume_id, err);
    }
    return 0;
}

static int resume(struct moving *moving, struct error **err)
{
    work_auto work = {.worker = moving->worker};
    if (work_begin(&work, moving->worker, moving->move.id, SANDBOX_EVENT_RESUME, OPERATION_RESUME,
                   admit_resume, &moving->move, err) < 0)
        return -1;
    work_be_in_transit(&work);
    return work_run_resume(&work, err);
}

/* --- the next step --- */

enum next { NEXT_END, NEXT_WAIT, NEXT_STEP };

struct running {
    struct moving *moving;
    struct move now; /* its row */
    bool found;
    struct sandbox sandbox;
    char refusal[MOVE_FAILURE_SIZE]; /* why it could not move */
};

static int look(struct running *running, struct error **err)
{
    struct moving *moving = running->moving;
    sandbox_deinit(&running->sandbox);
    if (move_find(moving->worker->db, moving->move.id, &running->now, &running->found, err) < 0)
        return -1;
    return sandbox_get_any(moving->worker->db, moving->move.id, false, &running->sandbox, err);
}

/* For a paused sandbox: decide whether to move it, or to move it again to the host of its
 * volumes. */
static int look_whether_to_carry(const struct running *running, bool *carries, struct error **err)
{
    const struct sandbox *sandbox = &running->sandbox;
    uint32_t host_id;
    if (sandbox_row_volumes_host(running->moving->worker->db, sandbox, &host_id, err) < 0)
        return -1;
    *carries = host_id != sandbox->host_id ||
               (running->now.generation == PAUSED && host_id == running->moving->move.from_host);
    return 0;
}

/* Other running sandboxes with the same volumes are paused soon, if they can be. */
static bool waits_for_others(const struct running *running, const struct error *failure)
{
    return failure->code == ERR_VOLUME_ATTACHED &&
           running->moving->move.attempts < ATTEMPTS_MOST / 2;
}

static int step_stopped(struct running *running, struct error **err)
{
    struct moving *moving = running->moving;
    error_auto failure = NULL;
    bool carries;
    if (look_whether_to_carry(running, &carries, err) < 0)
        return -1;
    if (carries) {
        fault_point(FAULT_MOVING_PAUSED);
        if (send_volumes(moving, &running->sandbox, &failure) == 0 && carry(moving, &failure) == 0)
            return 0;
        if (waits_for_others(running, failure) || failure->code == ERR_LEASE_LOST)
            return error_move(err, &failure);
        snprintf(running->refusal, sizeof running->refusal, "%s", failure->message);
        if (note_move(moving->worker->db, moving->move.id, err) < 0)
            return -1;
    }
    fault_point(FAULT_MOVING_THERE);
    return resume(moving, err);
}

/* Choose the next step from the present state. */
static enum next judge(const struct running *running, const char **why)
{
    const struct sandbox *sandbox = &running->sandbox;
    uint64_t phase = running->now.generation;
    *why = "";
    if (!sandbox_state_is_shown(sandbox->state) ||
        (sandbox->state == SANDBOX_STOPPED && phase == NOT_PAUSED))
        return NEXT_END;
    if (sandbox->state == SANDBOX_STOPPED)
        return NEXT_STEP;
    if (sandbox->state != SANDBOX_READY)
        return NEXT_WAIT;
    if (sandbox->host_id != running->moving->move.from_host)
        return NEXT_END;
    if (phase == NOT_PAUSED)
        return NEXT_STEP;
    *why = running->refusal[0] ? running->refusal : "it was resumed before the move";
    return NEXT_END;
}

/* The obstacle to the next step may be gone in a moment. */
static int retry(struct running *running, struct error **failure, struct error **err)
{
    struct moving *moving = running->moving;
    if ((*failure)->code == ERR_LEASE_LOST)
        return 0;
    if (look(running, err) < 0)
        return -1;
    if (running->found && running->sandbox.state == SANDBOX_READY) /* it could not be paused */
        return end(moving, (*failure)->message, err);
    if (moving->move.attempts >= ATTEMPTS_MOST)
        return end(moving, (*failure)->message, err);
    log_info("cannot continue the move of a running sandbox; trying again",
             LOG_STR("sandbox", moving->move.id), LOG_ERROR(*failure));
    return move_defer(moving->worker->db, &moving->move, AGAIN_MS, err);
}

static int go_on(struct running *running, bool *again, struct error **err)
{
    struct moving *moving = running->moving;
    const char *why;
    error_auto failure = NULL;
    *again = false;
    if (look(running, err) < 0)
        return -1;
    if (!running->found)
        return 0;
    switch (judge(running, &why)) {
    case NEXT_END:
        return end(moving, why, err);
    case NEXT_WAIT:
        return move_defer(moving->worker->db, &moving->move, BUSY_MS, err);
    case NEXT_STEP:
        break;
    }
    int result = running->sandbox.state == SANDBOX_READY ? pause(moving, &failure)
                                                         : step_stopped(running, &failure);
    *again = result == 0;
    if (result == 0 || lease_check(&moving->lease, err) == 0)
        return result == 0 ? 0 : retry(running, &failure, err);
    error_clear(err); /* another process continues */
    return 0;
}

int sandbox_move_running(struct moving *moving, struct error **err)
{
    struct running running = {.moving = moving};
    bool again = true;
    int result = 0;
    fault_point(FAULT_MOVING_TAKEN);
    while (result == 0 && again) {
        result = go_on(&running, &again, err);
        if (result == 0 && again)
            result = lease_check(&moving->lease, err);
    }
    sandbox_deinit(&running.sandbox);
    if (result < 0 && error_clear_if(err, ERR_LEASE_LOST)) /* another process continues */
        return 0;
    return result;
}
