/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "moving/moving.h"

#include "base/clock.h"
#include "base/fault_point.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/notify.h"
#include "base/rest.h"
#include "host/runtimes.h"

/* After this many attempts without an end, the object stays on its old host. */
#define ATTEMPTS_MOST 3
#define IN_USE_MS     500
#define AWAY_MS       5000 /* between attempts to remove a copy from a host that does not answer */
#define LOOK_MS       100
/* An object whose move cannot begin. */
#define REST_FIRST_MS 500
#define REST_MOST_MS  15000

/* --- connections --- */

/* Renew the lease, and check that both hosts answer; a lost host need not. */
int moving_tick(struct moving *moving, struct error **err)
{
    struct worker *worker = moving->worker;
    const struct move *move = &moving->move;
    if (lease_tick(&moving->lease, err) < 0 ||
        (moving->from && runtimes_check(worker->runtimes, worker->db, move->from_host, err) < 0))
        return -1;
    return runtimes_check(worker->runtimes, worker->db, move->to_host, err);
}

static int tick(void *context, struct error **err)
{
    return moving_tick(context, err);
}

static int tick_clear(void *context, struct error **err)
{
    struct moving *moving = context;
    return lease_tick(&moving->lease, err);
}

static int open_one(struct moving *moving, uint32_t host_id, struct runtime **runtime,
                    int (*ticking)(void *context, struct error **err), struct error **err)
{
    struct worker *worker = moving->worker;
    if (runtimes_get(worker->runtimes, worker->db, host_id, runtime, err) < 0)
        return -1;
    (*runtime)->tick = ticking;
    (*runtime)->tick_context = moving;
    return 0;
}

static int open_both(struct moving *moving, bool may_be_lost, struct error **err)
{
    if (open_one(moving, moving->move.from_host, &moving->from, tick, err) < 0) {
        moving->from = NULL;
        if (!may_be_lost || (*err)->code != ERR_HOST_LOST)
            return -1;
        error_clear(err);
    }
    return open_one(moving, moving->move.to_host, &moving->to, tick, err);
}

int moving_open_clear(struct moving *moving, struct runtime **runtime, bool *lost,
                      struct error **err)
{
    *lost = false;
    if (open_one(moving, moving->move.clear_host, &moving->from, tick_clear, err) == 0) {
        *runtime = moving->from;
        return 0;
    }
    if ((*err)->code != ERR_HOST_LOST && (*err)->code != ERR_NOT_FOUND)
        return -1;
    error_clear(err);
    *lost = true;
    return 0;
}

static void moving_close(struct moving *moving)
{
    if (moving->from)
        moving->from->tick = NULL;
    if (moving->to)
        moving->to->tick = NULL;
    moving->from = moving->to = NULL;
}

/* --- copying --- */

struct step {
    struct moving *moving;
    const struct mover *mover;
    const char *failure;
    bool arrived;
};

static int arrive_body(struct db *db, void *context, struct error **err)
{
    struct step *step = context;
    struct moving *moving = step->moving;
    step->arrived = false;
    if (move_check_owner(db, &moving->move, err) < 0 ||
        step->mover->arrive(db, moving, &step->arrived, err) < 0)
        return -1;
    fault_point(FAULT_MOVING_ARRIVING);
    return 0;
}

static int fail_body(struct db *db, void *context, struct error **err)
{
    const struct step *step = context;
    const struct move *move = &step->moving->move;
    if (move_check_owner(db, move, err) < 0)
        return -1;
    return move_clear_from(db, move->group_id, false, step->failure, err);
}

/* End a move that failed. An object that was deleted meanwhile is no failure. */
static int stays(struct step *step, struct error **failure, struct error **err)
{
    struct moving *moving = step->moving;
    if ((*failure)->code == ERR_LEASE_LOST)
        return error_move(err, failure);
    log_warning("cannot move an object to another host; deleting the unfinished copy",
                LOG_STR("object", moving->move.id), LOG_ERROR(*failure));
    step->failure = (*failure)->code == ERR_NOT_FOUND ? "" : (*failure)->message;
    return db_transaction(moving->worker->db, fail_body, step, err);
}

static int try_copy(struct step *step, struct error **err)
{
    struct moving *moving = step->moving;
    if (moving->move.attempts > ATTEMPTS_MOST)
        return error_set(err, ERR_RUNTIME_FAILED, "%u attempts were interrupted before their end",
                         moving->move.attempts - 1);
    const struct mover *mover = step->mover;
    if (open_both(moving, mover->fetch, err) < 0 ||
        (moving->from ? mover->copy : mover->fetch)(moving, err) < 0)
        return -1;
    fault_point(FAULT_MOVING_COPIED);
    return db_transaction(moving->worker->db, arrive_body, step, err);
}

static int copy(struct step *step, struct error **err)
{
    error_auto failure = NULL;
    int64_t begun_ms = clock_monotonic_ms();
    fault_point(FAULT_MOVING_BEGUN);
    if (try_copy(step, &failure) < 0)
        return stays(step, &failure, err);
    log_info("moved an object to another host", LOG_STR("object", step->moving->move.id),
             LOG_INT("from", step->moving->move.from_host),
             LOG_INT("to", step->moving->move.to_host),
             LOG_INT("duration_ms", clock_monotonic_ms() - begun_ms));
    fault_point(FAULT_MOVING_ARRIVED);
    return 0;
}

/* --- clearing --- */

static int end_body(struct db *db, void *context, struct error **err)
{
    const struct move *move = context;
    return move_check_owner(db, move, err) < 0 ? -1 : move_end(db, move, err);
}

static int clear(struct step *step, struct error **err)
{
    struct moving *moving = step->moving;
    bool cleared = false;
    error_auto failure = NULL;
    if (step->mover->clear(moving, &cleared, &failure) < 0) {
        if (failure->code == ERR_LEASE_LOST)
            return error_move(err, &failure);
        log_warning("cannot delete the old or unfinished copy of a moved object; trying again",
                    LOG_STR("object", moving->move.id), LOG_INT("host", moving->move.clear_host),
                    LOG_ERROR(failure));
        return move_defer(moving->worker->db, &moving->move, AWAY_MS, err);
    }
    if (!cleared)
        return move_defer(moving->worker->db, &moving->move, IN_USE_MS, err);
    fault_point(FAULT_MOVING_CLEARED);
    return db_transaction(moving->worker->db, end_body, &moving->move, err);
}

int moving_run(struct moving *moving, const struct mover *mover, struct error **err)
{
    struct step step = {.moving = moving, .mover = mover};
    int result = moving->move.state == MOVE_CLEARING ? clear(&step, err) : copy(&step, err);
    moving_close(moving);
    return result;
}

/* --- starting, and waiting --- */

int move_pass_over(struct error **err)
{
    switch ((*err)->code) {
    case ERR_INVALID_REQUEST:
    case ERR_NOT_FOUND:
    case ERR_SANDBOX_BUSY:
    case ERR_SANDBOX_NOT_RUNNING:
    case ERR_VOLUME_ATTACHED:
    case ERR_NO_CAPACITY:
    case ERR_INSUFFICIENT_STORAGE:
    case ERR_HOST_UNREACHABLE:
        error_clear(err);
        return 0;
    default:
        return -1;
    }
}

int moving_wait(struct worker *worker, const char *id, int64_t give_up_ms, bool *arrived,
                struct error **err)
{
    struct move move;
    bool found;
    char failure[MOVE_FAILURE_SIZE];
    *arrived = false;
    do {
        if (move_find(worker->db, id, &move, &found, err) < 0)
            return -1;
        if (!found || (move.state != MOVE_COPYING && move.state != MOVE_COPIED)) {
            if (move_failure(worker->db, id, failure, err) < 0)
                return -1;
            *arrived = !*failure;
            return 0;
        }
        pool_suspend_start(worker->pool);
        clock_sleep_ms(LOOK_MS);
    } while (clock_monotonic_ms() < give_up_ms);
    return 0;
}

int moving_begin_first(char (*ids)[ID_SIZE], unsigned count, unsigned most,
                       int (*begin)(void *context, const char *id, struct error **err),
                       void *context, bool *begun, struct error **err)
{
    unsigned tried = 0;
    *begun = false;
    for (unsigned i = 0; i < count && tried < most && !*begun; i++) {
        autofree char *rest = xasprintf("leaving:%s", ids[i]);
        if (rest_lasts(rest))
            continue;
        tried++;
        *begun = begin(context, ids[i], err) == 0;
        if (!*begun && move_pass_over(err) < 0)
            return -1;
        if (!*begun)
            rest_after_failure(rest, REST_FIRST_MS, REST_MOST_MS);
    }
    return 0;
}

struct leaving {
    struct worker *worker;
    const struct move_start *start;
};

static int begin_leaving(void *context, const char *id, struct error **err)
{
    const struct leaving *leaving = context;
    struct move_order order = {.id = id};
    return db_transaction(leaving->worker->db, leaving->start->begin, &order, err);
}

int moving_begin_leaving(struct worker *worker, const struct move_start *start, bool *begun,
                         struct error **err)
{
    char ids[MOVE_LISTED_MOST][ID_SIZE];
    unsigned count;
    struct leaving leaving = {worker, start};
    *begun = false;
    if (start->leaving(worker->db, clock_now_ms() - MOVE_AGAIN_MS, MOVE_LISTED_MOST, ids, &count,
                       err) < 0)
        return -1;
    return moving_begin_first(ids, count, start->at_once, begin_leaving, &leaving, begun, err);
}

int moving_ask(struct worker *worker, const struct move_start *start,
               const struct move_order *order, struct error **err)
{
    struct move_order asked = *order;
    asked.asked = true;
    if (db_transaction(worker->db, start->begin, &asked, err) < 0 &&
        (*err)->code != ERR_SANDBOX_BUSY)
        return -1;
    error_clear(err);
    notify_send(worker->settings->api_socket, NOTIFY_MOVES);
    return 0;
}

int moving_for_room(struct worker *worker, const struct move_start *start,
                    const struct move_order *order, int64_t give_up_ms, bool *moved,
                    struct error **err)
{
    *moved = false;
    return moving_ask(worker, start, order, err) < 0
               ? move_pass_over(err)
               : moving_wait(worker, order->id, give_up_ms, moved, err);
}
