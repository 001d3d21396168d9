/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/counters.h"
#include "base/fault_point.h"
#include "base/log.h"
#include "base/mem.h"
#include "host/host.h"
#include "moving/moving.h"
#include "runtime/agent_client.h"
#include "sandbox/failed_starts.h"
#include "sandbox/lifecycle_steps.h"
#include "sandbox/reservation.h"
#include "sandbox/sandbox_archive.h"
#include "sandbox/sandbox_events.h"
#include "sandbox/sandbox_hook.h"
#include "sandbox/sandbox_room.h"
#include "sandbox/sandbox_row.h"
#include "volume/volume_move.h"

#define AGENT_CONTINUE_WAIT_MS 5000 /* an agent that came back with its memory */

/* Initialise the agent of an instance that started from its disk. A sandbox whose agent never
 * answers must not hold a worker again and again, so the failure is recorded. */
static int init_started(struct work *work, struct error **err)
{
    const struct sandbox *sandbox = &work->sandbox;
    if (work_init_agent(work, work_start_wait_ms(work), err) == 0) {
        failed_start_forget(work->worker, sandbox->team_id, sandbox->id);
        return 0;
    }
    if ((*err)->code == ERR_RUNTIME_UNAVAILABLE)
        failed_start_note(work->worker, sandbox->team_id, sandbox->id);
    return -1;
}

/* Do this for an instance that started from its disk in place of its memory. The row says so first:
 * an attempt after a crash of this process would take the agent for the one in the memory. */
static int init_without_memory(struct work *work, struct error **err)
{
    return sandbox_row_leave_memory(work->worker->db, &work->sandbox, err) < 0
               ? -1
               : init_started(work, err);
}

static bool is_worth_another_try(struct work *work, const struct error *failure)
{
    error_auto silent = NULL;
    return error_is_transient(failure) && work->operation.attempts < 5 &&
           failed_start_check(work->worker, work->sandbox.team_id, work->sandbox.id, &silent) == 0;
}

/* Start the instance and initialise its agent. When the agent of a memory image does not work, the
 * sandbox starts from its disk. */
static int start_instance(struct work *work, enum runtime_origin *origin, struct error **err)
{
    struct sandbox *sandbox = &work->sandbox;
    struct runtime *runtime = work->runtime;
    bool with_memory = !sandbox_has_volumes(sandbox) && !sandbox->memory_left;
    *origin = with_memory ? RUNTIME_FROM_MEMORY : RUNTIME_FROM_DISK;
    if (runtime->ops->resume(runtime, sandbox->instance_name, &sandbox->resources, with_memory,
                             origin, err) < 0)
        return -1;
    memcpy(work->memory_lost, runtime->memory_lost, sizeof work->memory_lost);
    fault_point(FAULT_RESUME_STARTED);
    if (*origin == RUNTIME_FROM_DISK)
        return with_memory ? init_without_memory(work, err) : init_started(work, err);

    error_auto failure = NULL;
    bool continues = true;
    /* The previous worker may have started it already, and from the disk. */
    if (work->operation.attempts == 1 ||
        work_agent_continues(work, AGENT_CONTINUE_WAIT_MS, &continues, &failure) == 0) {
        if (!continues) {
            *origin = RUNTIME_FROM_DISK;
            return init_without_memory(work, err);
        }
        if (work_init_agent(work, AGENT_CONTINUE_WAIT_MS, &failure) == 0)
            return 0;
    }
    /* The memory is not given up for causes outside it, such as an unreachable database. */
    if (failure->code == ERR_LEASE_LOST || failure->code == ERR_DB_UNAVAILABLE ||
        failure->code == ERR_DB_FULL || failure->code == ERR_DB_DEADLOCK)
        return error_move(err, &failure);
    if (work_still_ours(work, err) < 0)
        return -1;
    log_warning("the agent of a sandbox does not work in the resumed memory; starting the sandbox "
                "from its disk",
                SANDBOX_LOG(sandbox), LOG_ERROR(failure));
    snprintf(work->memory_lost, sizeof work->memory_lost,
             "the agent in the memory did not work: %s", failure->message);
    if (runtime->ops->pause(runtime, sandbox->instance_name, &sandbox->resources,
                            RUNTIME_PAUSE_DISK, origin, err) < 0 ||
        runtime->ops->resume(runtime, sandbox->instance_name, &sandbox->resources, false, origin,
                             err) < 0)
        return -1;
    /* Begin the time for the agent again: the wait for the agent in the memory and the stop may
     * have taken the whole time. */
    work->agent_until = (struct deadline){0};
    *origin = RUNTIME_FROM_DISK;
    return init_without_memory(work, err);
}

/* Run the hook, which reads in its environment where the sandbox comes from. */
static int run_hook(struct work *work, enum runtime_origin origin, struct error **err)
{
    snprintf(work->sandbox.resumed_from, sizeof work->sandbox.resumed_from, "%s",
             origin == RUNTIME_FROM_MEMORY ? "memory" : "disk");
    return work_run_hook(work, HOOK_AFTER_RESUME, err);
}

int work_run_resume(struct work *work, struct error **err)
{
    struct sandbox *sandbox = &work->sandbox;
    enum runtime_origin origin;
    error_auto failure = NULL;
    fault_point(FAULT_RESUME_BEGUN);
    work_hold_services(work);
    if (work_open_runtime(work, &failure) == 0 && work_fetch_archived(work, &failure) == 0 &&
        work_tell_size(work, &failure) == 0 && work_wait_for_turn(work, &failure) == 0 &&
        work_tell_volumes(work, &failure) == 0 && work_network_resume(work, &failure) == 0 &&
        work_fence_volumes(work, &failure) == 0 && start_instance(work, &origin, &failure) == 0 &&
        run_hook(work, origin, &failure) == 0) {
        fault_point(FAULT_RESUME_AGENT);
        if (work_finish(work, SANDBOX_EVENT_RESUMED, NULL, err) < 0)
            return -1;
        COUNT(COUNT_RESUMES, origin == RUNTIME_FROM_MEMORY ? "memory" : "disk");
        fault_point(FAULT_RESUME_FINISHED);
        return 0;
    }
    if (is_worth_another_try(work, failure)) {
        work_defer(work, failure);
        return error_move(err, &failure);
    }
    if (failure->code == ERR_LEASE_LOST)
        return error_move(err, &failure);
    if (work_still_ours(work, err) < 0)
        return -1;
    /* It cannot start. It counts as stopped with its disk, and a half-started instance is stopped
     * too. */
    error_auto ignored = NULL;
    enum runtime_origin kept;
    if (work->runtime)
        work->runtime->ops->pause(work->runtime, sandbox->instance_name, &sandbox->resources,
                                  RUNTIME_PAUSE_DISK, &kept, &ignored);
    if (failure->code == ERR_NOT_FOUND) /* the instance, not the sandbox */
        error_recode(&failure, ERR_RUNTIME_REFUSED);
    if (work_finish(work, SANDBOX_EVENT_RESUME_FAILED, failure, err) < 0)
        return -1;
    return error_move(err, &failure);
}

struct admission {
    uint64_t timeout_s; /* 0: the sandbox's own */
    bool without_memory;
    bool no_copying;
    bool waits_only; /* for room; others remove the instances that take it */
    const struct settings *settings;
    enum {
        DEADLINE_REFRESHED,
        DEADLINE_EXTENDED,
        DEADLINE_KEPT
    } deadline; /* for one that runs already */
};

/* It is moving to another host, and continues there by itself. */
static int check_moving(struct db *db, const struct sandbox *sandbox, struct error **err)
{
    struct move move;
    bool found;
    if (move_find(db, sandbox->id, &move, &found, err) < 0)
        return -1;
    return found ? error_set(err, ERR_SANDBOX_BUSY,
                             "The sandbox is moving to another host, and resumes there by itself.")
                 : 0;
}

static int copy_first(struct error **err)
{
    return error_set(err, ERR_COPY_FIRST,
                     "sandlot is copying the sandbox to another host, where it resumes.");
}

static int check_fetching(struct db *db, const struct sandbox *sandbox,
                          const struct admission *admission, struct error **err)
{
    bool fetches;
    if (!admission->no_copying)
        return 0;
    if (sandbox_is_fetched(admission->settings, db, sandbox, &fetches, err) < 0)
        return -1;
    return fetches ? copy_first(err) : 0;
}

/* A paused sandbox needs its reservation back before it may start. */
static int admit(struct db *db, struct sandbox *sandbox, void *context, struct error **err)
{
    struct admission *admission = context;
    if (sandbox->state != SANDBOX_STOPPED)
        return 0;
    if (check_moving(db, sandbox, err) < 0 || check_fetching(db, sandbox, admission, err) < 0)
        return -1;
    sandbox->memory_left = admission->without_memory;
    snprintf(sandbox->moved_by, sizeof sandbox->moved_by, "%s",
             admission->deadline == DEADLINE_KEPT ? MOVED_BY_TRAFFIC : MOVED_BY_REQUEST);
    if (sandbox_take_timeout(db, sandbox, admission->timeout_s, err) < 0 ||
        work_lock_volumes(db, sandbox, err) < 0)
        return -1;
    return reservation_renew(db, sandbox, err);
}

struct refresh {
    const char *id;
    struct admission *admission;
    struct sandbox *sandbox;
    bool runs;
};

/* A running sandbox only gets a new deadline, which is not a move of the state machine. */
static int refresh_body(struct db *db, void *context, struct error **err)
{
    struct refresh *refresh = context;
    struct sandbox *sandbox = refresh->sandbox;
    sandbox_deinit(sandbox);
    if (sandbox_get_any(db, refresh->id, true, sandbox, err) < 0)
        return -1;
    if (!sandbox_state_is_shown(sandbox->state))
        return error_set(err, ERR_NOT_FOUND, "There is no such sandbox.");
    refresh->runs = sandbox_state_runs(sandbox->state);
    const struct admission *admission = refresh->admission;
    uint32_t former_s = sandbox->timeout_s;
    if (!refresh->runs || admission->deadline == DEADLINE_KEPT)
        return 0;
    if (sandbox_take_timeout(db, sandbox, admission->timeout_s, err) < 0)
        return -1;
    if (admission->deadline == DEADLINE_EXTENDED &&
        clock_in_s(sandbox->timeout_s) <= sandbox->deadline_at_ms) {
        sandbox->timeout_s = former_s;
        return 0;
    }
    fault_point(FAULT_DEADLINE_EXTENDING);
    sandbox->deadline_at_ms = clock_in_s(sandbox->timeout_s);
    const struct sandbox_changed changed = {.deadline = true};
    if (sandbox_row_update(db, sandbox, err) < 0)
        return -1;
    return sandbox_tell_updated(db, sandbox, &changed, err);
}

/* The attempts for a sandbox whose host is full; each is made once. */
struct journey {
    bool volumes_asked, asked;
    int64_t room_by_ms; /* until when to wait for the room of deleted sandboxes (monotonic) */
};

static int volumes_stay(struct error **err, const char *why)
{
    autofree char *reason = xstrdup(why);
    error_clear(err);
    error_set(err, ERR_NO_CAPACITY,
              "The sandbox's host has no room for it now, and its volumes cannot move to another "
              "host: %s",
              reason);
    (*err)->retry_after_s = SANDBOX_FOLLOW_RETRY_S;
    return -1;
}

/* Move its volumes to a host with room for the sandbox, which then follows them. */
static int take_volumes(struct work *work, int64_t give_up_ms, struct error **err)
{
    const struct sandbox *sandbox = &work->sandbox;
    struct worker *worker = work->worker;
    char volume_id[ID_SIZE];
    uint32_t host_id;
    bool arrived;
    if (sandbox_row_first_volume(worker->db, sandbox, volume_id, &host_id, err) < 0)
        return -1;
    if (!*volume_id || host_id != sandbox->host_id)
        return 0;
    const struct move_order order = {.id = volume_id, .resources = sandbox->resources};
    if (moving_ask(worker, &volume_move_start, &order, err) < 0)
        return error_is_transient(*err) ? -1 : volumes_stay(err, (*err)->message);
    if (moving_wait(worker, volume_id, give_up_ms, &arrived, err) < 0)
        return -1;
    return arrived ? 0 : volumes_stay(err, "the copy has not ended yet.");
}

/* Begin to move the sandbox, or first its volumes. *stays: why it does not move; NULL when the
 * refusal of its host already says so. */
static int set_out(struct work *work, struct journey *journey, int64_t give_up_ms,
                   struct error **stays)
{
    if (sandbox_has_volumes(&work->sandbox) && !journey->volumes_asked) {
        journey->volumes_asked = true;
        return take_volumes(work, give_up_ms, stays);
    }
    journey->asked = true;
    if (sandbox_move_for_room(work->worker, work->sandbox.id, stays) == 0 ||
        (*stays)->code == ERR_SANDBOX_BUSY) /* it follows its volumes already */
        return 0;
    error_clear(stays);
    return -1;
}

/* Begin to move a sandbox whose host is full. It is then busy until it has arrived. */
static bool goes_elsewhere(struct work *work, struct journey *journey, int64_t give_up_ms,
                           struct error **err)
{
    error_auto stays = NULL;
    if ((*err)->code != ERR_NO_CAPACITY || journey->asked)
        return false;
    if (set_out(work, journey, give_up_ms, &stays) < 0) {
        if (stays && stays->code == ERR_NO_CAPACITY) {
            error_clear(err);
            error_move(err, &stays);
        }
        return false;
    }
    error_clear(err);
    error_set(err, ERR_SANDBOX_BUSY, "The sandbox is moving to a host with room for it.");
    return true;
}

/* Give a sandbox of a lost host to another host, if the archive has it. */
static bool leaves_lost_host(struct worker *worker, const char *id, struct error **err)
{
    error_auto stays = NULL;
    bool gone = false;
    if ((*err)->code != ERR_HOST_LOST)
        return false;
    if (sandbox_leave_lost_host(worker, id, &gone, &stays) < 0) {
        error_clear(err);
        error_move(err, &stays);
    }
    if (!gone)
        return false;
    error_clear(err);
    error_set(err, ERR_SANDBOX_BUSY, "sandlot is fetching the sandbox from the archive.");
    return true;
}

/* Check, for a sandbox that cannot begin to start, whether it waits for a copy. The copy may be in
 * progress, or still to begin if a host has room. Nothing is begun here. */
static int waits_for_copy(struct work *work, const struct error *refusal, bool *waits,
                          struct error **err)
{
    const struct sandbox *sandbox = &work->sandbox;
    struct worker *worker = work->worker;
    uint32_t host_id = 0, volumes_host;
    *waits = false;
    switch (refusal->code) {
    case ERR_SANDBOX_BUSY:
        *waits = sandbox->state == SANDBOX_MOVING || sandbox->state == SANDBOX_STOPPED;
        return *waits || sandbox->state != SANDBOX_RESTORING
                   ? 0
                   : sandbox_is_fetched(worker->settings, worker->db, sandbox, waits, err);
    case ERR_NO_CAPACITY:
        if (host_move_target(worker->db, sandbox->host_id, sandbox->address, &sandbox->resources,
                             &host_id, err) < 0 ||
            sandbox_row_volumes_host(worker->db, sandbox, &volumes_host, err) < 0)
            return -1;
        *waits = host_id || volumes_host != sandbox->host_id;
        return 0;
    case ERR_HOST_LOST:
        return archive_is_on(worker->settings) ? archive_has(worker->db, sandbox->id, waits, err)
                                               : 0;
    default:
        return 0;
    }
}

/* Wait for the room of deleted sandboxes. *coming: the resume may succeed now. Errors:
 * ERR_COPY_FIRST. */
static int wait_for_room(struct work *work, const struct admission *admission, int64_t room_by_ms,
                         bool *coming, struct error **err)
{
    struct worker *worker = work->worker;
    error_auto refusal = NULL;
    *coming = false;
    if (clock_monotonic_ms() >= room_by_ms)
        return 0;
    error_move(&refusal, err);
    if (sandbox_room_is_coming(worker->db, work->sandbox.team_id, refusal, coming, err) < 0)
        return -1;
    if (!*coming) {
        error_move(err, &refusal);
        return 0;
    }
    if (admission->no_copying)
        return copy_first(err);
    if (admission->waits_only)
        clock_sleep_ms(SANDBOX_ROOM_POLL_MS);
    else if (sandbox_room_step(worker, err) < 0)
        return -1;
    error_set(err, ERR_SANDBOX_BUSY, "The sandbox is waiting for room on its host.");
    return 0;
}

static bool leaves_copying(struct work *work, const struct admission *admission, struct error **err)
{
    bool waits;
    error_auto failure = NULL;
    if (!admission->no_copying || waits_for_copy(work, *err, &waits, &failure) < 0 || !waits)
        return false;
    error_clear(err);
    copy_first(err);
    return true;
}

/* Decide after a resume that could not begin. Return 0, with an error that wait_while_busy() waits
 * for, to try again. */
static int overcome(struct work *work, const struct admission *admission, struct journey *journey,
                    int64_t give_up_ms, struct error **err)
{
    struct worker *worker = work->worker;
    bool coming;
    if ((*err)->code == ERR_SHARE_USED_UP)
        return 0;
    if ((*err)->code == ERR_COPY_FIRST || leaves_copying(work, admission, err))
        return -1;
    if ((*err)->code == ERR_SANDBOX_BUSY || goes_elsewhere(work, journey, give_up_ms, err) ||
        leaves_lost_host(worker, work->sandbox.id, err))
        return 0;
    if (wait_for_room(work, admission, journey->room_by_ms, &coming, err) < 0)
        return -1;
    if (coming)
        return 0;
    sandbox_tell_refused(worker->db, work->sandbox.team_id, *err);
    return work_public_error(work, err);
}

static int bring_up(struct worker *worker, const char *id, struct admission *admission,
                    struct sandbox *sandbox, struct error **err)
{
    int64_t now_ms = clock_monotonic_ms();
    int64_t give_up_ms = now_ms + (int64_t)worker->settings->resume_wait_s * 1000;
    struct journey journey = {.room_by_ms = now_ms + SANDBOX_ROOM_WAIT_MS};
    if (journey.room_by_ms > give_up_ms - SANDBOX_ROOM_POLL_MS)
        journey.room_by_ms = give_up_ms - SANDBOX_ROOM_POLL_MS;
    do {
        work_auto work = {.worker = worker};
        struct refresh refresh = {id, admission, &work.sandbox, false};
        struct agent_place at;
        if (db_transaction(worker->db, refresh_body, &refresh, err) < 0)
            return work_public_error(&work, err);
        work_note_host(&work);
        if (refresh.runs && work_find_agent(&work, &at, err) < 0)
            return work_public_error(&work, err);
        if (!refresh.runs && failed_start_check(worker, work.sandbox.team_id, id, err) < 0)
            return -1;
        if (!refresh.runs && work_begin(&work, worker, id, SANDBOX_EVENT_RESUME, OPERATION_RESUME,
                                        admit, admission, err) < 0) {
            pool_suspend_start(worker->pool); /* what follows waits, and starts nothing */
            if (overcome(&work, admission, &journey, give_up_ms, err) < 0)
                return -1;
            continue;
        }
        if (!refresh.runs && work_run_resume(&work, err) < 0)
            return work_public_error(&work, err);
        if (refresh.runs && admission->deadline != DEADLINE_KEPT)
            work_greet_agent(&work);
        *sandbox = work.sandbox;
        work.sandbox = (struct sandbox){0};
        return 0;
    } while (wait_while_busy(worker, give_up_ms, err) == 0);
    return -1;
}

int sandbox_resume(struct worker *worker, const char *id, const struct sandbox_resume *how,
                   struct sandbox *sandbox, struct error **err)
{
    struct admission admission = {
        .timeout_s = how->timeout_s,
        .without_memory = how->without_memory,
        .no_copying = how->no_copying,
        .settings = worker->settings,
        .deadline = how->extend_only ? DEADLINE_EXTENDED : DEADLINE_REFRESHED,
    };
    return bring_up(worker, id, &admission, sandbox, err);
}

int sandbox_wake(struct worker *worker, const char *id, struct sandbox *sandbox, struct error **err)
{
    struct admission admission = {.deadline = DEADLINE_KEPT, .waits_only = true};
    return bring_up(worker, id, &admission, sandbox, err);
}
