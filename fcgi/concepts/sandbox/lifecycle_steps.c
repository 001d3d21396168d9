/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sandbox/lifecycle_steps.h"

#include <string.h>

#include "account/usage.h"
#include "base/clock.h"
#include "base/counters.h"
#include "base/fault_point.h"
#include "base/log.h"
#include "base/mem.h"
#include "checkpoint/memory_image.h"
#include "crypto/aead.h"
#include "moving/moving.h"
#include "network/denied_names.h"
#include "runtime/agent_client.h"
#include "sandbox/kept_log.h"
#include "sandbox/mount_list.h"
#include "sandbox/quota.h"
#include "sandbox/sandbox_archive.h"
#include "sandbox/sandbox_events.h"
#include "sandbox/sandbox_row.h"
#include "sandbox/sandbox_size.h"
#include "secret/egress_authority.h"
#include "secret/secret.h"
#include "worker/hold.h"

#define BUSY_POLL_MS   15
#define TURN_POLL_MS   50
#define HANG_UP_MS     1000
#define SIZE_POLL_MS   20
#define PAUSE_AGAIN_MS 10000
#define HOST_AGAIN_MS  5000
/* The limit of all waits for the agent of a sandbox in one piece of work. They may find that the
 * memory has no agent any more, and then start the agent from the disk. */
#define AGENT_REST_MS  5000  /* for all other calls to an agent */
#define FINISH_WAIT_MS 25000 /* for the database to return, before the result is left behind */

void work_deinit(struct work *work)
{
    if (work->runtime)
        work->runtime->tick = NULL;
    work_network_end(work);
    sandbox_deinit(&work->sandbox);
}

/* --- usage --- */

/* Return the kind of usage of a state. A state between two others keeps the kind of the previous
 * one. */
static enum usage_kind usage_in(enum sandbox_state state)
{
    switch (state) {
    case SANDBOX_READY:
        return USAGE_RUNTIME;
    case SANDBOX_STOPPED:
        return USAGE_STORAGE;
    case SANDBOX_DESTROYING:
    case SANDBOX_DESTROYED:
        return USAGE_NONE;
    default:
        return USAGE_UNCHANGED;
    }
}

static int follow_state(struct db *db, const struct sandbox *sandbox, struct error **err)
{
    return usage_follow(db, sandbox->id, usage_in(sandbox->state), sandbox->updated_at_ms, err);
}

/* A sandbox that was just created has no open interval to end. */
static int follow_usage(struct db *db, const struct sandbox *sandbox, enum sandbox_event event,
                        struct error **err)
{
    const struct usage_begin begin = {sandbox->id, sandbox->team_id, sandbox->incarnation,
                                      &sandbox->resources, sandbox->updated_at_ms};
    return event == SANDBOX_EVENT_CREATED ? usage_begin(db, &begin, err)
                                          : follow_state(db, sandbox, err);
}

/* --- beginning --- */

void work_start(struct work *work, struct worker *worker)
{
    work->worker = worker;
    work->started_ms = clock_monotonic_ms();
    operation_keep(worker->db, &work->operation, worker->settings->lease_s, &work->lease);
    log_context_set("operation", work->operation.id);
}

int work_begin_locked(struct work *work, struct db *db, enum sandbox_event event,
                      enum operation_kind kind, struct error **err)
{
    struct sandbox *sandbox = &work->sandbox;
    bool may_leave = false;
    if (sandbox_state_next(sandbox->state, event, &sandbox->state, err) < 0 ||
        (event == SANDBOX_EVENT_DELETE && sandbox->reserved == RESERVES_ALL &&
         quota_may_leave(db, sandbox->team_id, &may_leave, err) < 0))
        return -1;
    sandbox->incarnation++;
    if (event == SANDBOX_EVENT_RESUME || event == SANDBOX_EVENT_ROLLBACK)
        sandbox->reserved = RESERVES_ALL;
    else if (may_leave)
        sandbox->reserved = RESERVES_ROOM;
    if (operation_begin(db, sandbox, kind, work->queued ? NULL : work->worker->lease_owner,
                        work->worker->settings->lease_s, &work->operation, err) < 0)
        return -1;
    if (sandbox_row_update(db, sandbox, err) < 0 || follow_state(db, sandbox, err) < 0 ||
        sandbox_tell_move(db, sandbox, event, false, err) < 0)
        return -1;
    if (sandbox_state_is_shown(sandbox->state))
        return 0;
    return sandbox_row_index_metadata(db, sandbox, err) < 0 ||
                   denied_names_forget(db, sandbox->id, err) < 0 ||
                   secret_unfollow(db, sandbox->id, err) < 0
               ? -1
               : 0;
}

struct begin {
    struct work *work;
    const char *sandbox_id;
    enum sandbox_event event;
    enum operation_kind kind;
    int (*admit)(struct db *db, struct sandbox *sandbox, void *context, struct error **err);
    void *context;
};

/* Count the request as a start again, if it has waited. A delete and a move that the state refuses
 * need no turn. */
static int take_turn(const struct begin *begin, struct error **err)
{
    enum sandbox_state to;
    error_auto refusal = NULL;
    if (begin->event == SANDBOX_EVENT_DELETE ||
        sandbox_state_next(begin->work->sandbox.state, begin->event, &to, &refusal) < 0 ||
        pool_resume_start(begin->work->worker->pool))
        return 0;
    return error_set(err, ERR_SHARE_USED_UP, "Too many other sandboxes are starting.");
}

/* The dispatcher may be stopping the instance of a paused sandbox. A delete need not wait. */
static int check_hold(const struct begin *begin, struct error **err)
{
    const struct sandbox *sandbox = &begin->work->sandbox;
    return begin->event == SANDBOX_EVENT_DELETE || sandbox->state != SANDBOX_STOPPED
               ? 0
               : hold_check(begin->work->worker->db, sandbox->host_id, sandbox->id, err);
}

static int begin_body(struct db *db, void *context, struct error **err)
{
    struct begin *begin = context;
    struct sandbox *sandbox = &begin->work->sandbox;
    sandbox_deinit(sandbox);
    if (sandbox_get_any(db, begin->sandbox_id, true, sandbox, err) < 0)
        return -1;
    if (!sandbox_state_is_shown(sandbox->state))
        return error_set(err, ERR_NOT_FOUND, "There is no such sandbox.");
    work_note_host(begin->work);
    if ((begin->event != SANDBOX_EVENT_DELETE && work_check_host(begin->work, err) < 0) ||
        check_hold(begin, err) < 0 || take_turn(begin, err) < 0)
        return -1;
    if (begin->admit && begin->admit(db, sandbox, begin->context, err) < 0)
        return -1;
    return work_begin_locked(begin->work, db, begin->event, begin->kind, err);
}

int work_begin(struct work *work, struct worker *worker, const char *sandbox_id,
               enum sandbox_event event, enum operation_kind kind,
               int (*admit)(struct db *db, struct sandbox *sandbox, void *context,
                            struct error **err),
               void *context, struct error **err)
{
    struct begin begin = {work, sandbox_id, event, kind, admit, context};
    work->worker = worker;
    if (db_transaction(worker->db, begin_body, &begin, err) < 0)
        return -1;
    work_start(work, worker);
    return 0;
}

/* --- working --- */

/* Called while the runtime waits. */
static int tick(void *context, struct error **err)
{
    struct work *work = context;
    if (work->answer_by_ms && clock_monotonic_ms() >= work->answer_by_ms)
        return error_set(err, ERR_RUNTIME_UNAVAILABLE, "the host has not finished the call yet");
    if (lease_tick(&work->lease, err) < 0)
        return -1;
    return work_check_host(work, err);
}

/* size NULL: as Incus has it. */
static int tell(struct work *work, const struct runtime_resources *size, struct error **err)
{
    const struct sandbox *sandbox = &work->sandbox;
    struct runtime *runtime = work->runtime;
    mount_list_auto list = {.count = 0};
    if (mount_list_read(&list, work->worker->db, sandbox, err) < 0)
        return -1;
    return runtime->ops->adapt(runtime, sandbox->instance_name, size, list.mounts, list.count, err);
}

int work_tell_volumes(struct work *work, struct error **err)
{
    return sandbox_has_volumes(&work->sandbox) ? tell(work, NULL, err) : 0;
}

int work_tell_size(struct work *work, struct error **err)
{
    const struct sandbox *sandbox = &work->sandbox;
    struct worker *worker = work->worker;
    bool found, held = false;
    while (!held) {
        if (sandbox_size_hold(worker->db, sandbox->id, worker->lease_owner,
                              worker->settings->lease_s, &found, &held, err) < 0)
            return -1;
        if (!found)
            return 0;
        if (!held) {
            pool_suspend_start(worker->pool);
            clock_sleep_ms(SIZE_POLL_MS);
            if (tick(work, err) < 0)
                return -1;
        }
    }
    if (tell(work, &sandbox->resources, err) < 0)
        return -1;
    fault_point(FAULT_SIZE_TOLD);
    return sandbox_size_forget(worker->db, sandbox->id, err);
}

void work_note_host(struct work *work)
{
    const struct sandbox *sandbox = &work->sandbox;
    runtimes_note_condition(work->worker->runtimes, sandbox->host_id, &sandbox->host_condition);
}

int work_check_host(struct work *work, struct error **err)
{
    struct worker *worker = work->worker;
    return runtimes_check(worker->runtimes, worker->db, work->sandbox.host_id, err);
}

bool work_lacks_host(struct work *work, const struct error *failure)
{
    struct worker *worker = work->worker;
    struct relay_place relay;
    error_auto refused = NULL;
    switch (failure->code) {
    case ERR_HOST_UNREACHABLE:
        return true;
    case ERR_RUNTIME_UNAVAILABLE:
    case ERR_OUTCOME_UNKNOWN:
        return runtimes_relay(worker->runtimes, worker->db, work->sandbox.host_id, &relay,
                              &refused) < 0
                   ? refused->code == ERR_HOST_UNREACHABLE
                   : relay.url != NULL;
    default:
        return false;
    }
}

int work_wait_for_turn(struct work *work, struct error **err)
{
    const struct worker *worker = work->worker;
    int64_t give_up_ms = clock_monotonic_ms() + (int64_t)worker->settings->resume_wait_s * 1000;
    while (!pool_resume_start(worker->pool)) {
        if (clock_monotonic_ms() >= give_up_ms)
            return error_set(err, ERR_RUNTIME_UNAVAILABLE,
                             "The sandbox waits until fewer other sandboxes are starting.");
        clock_sleep_ms(TURN_POLL_MS);
        if (work->operation.id[0] && lease_tick(&work->lease, err) < 0)
            return -1;
    }
    return 0;
}

int work_still_ours(struct work *work, struct error **err)
{
    return lease_check(&work->lease, err);
}

int work_open_runtime(struct work *work, struct error **err)
{
    if (runtimes_get(work->worker->runtimes, work->worker->db, work->sandbox.host_id,
                     &work->runtime, err) < 0)
        return -1;
    /* A worker that was held up for longer than its lease must not act any more. */
    if (lease_tick(&work->lease, err) < 0)
        return -1;
    work->runtime->tick = tick;
    work->runtime->tick_context = work;
    work->runtime->pool = work->worker->pool;
    return 0;
}

unsigned work_start_wait_ms(const struct work *work)
{
    return worker_start_wait_ms(work->worker->settings, work->sandbox.virtual_machine);
}

struct deadline work_agent_deadline(struct work *work, unsigned wait_ms)
{
    if (!work->agent_until.at_ms)
        work->agent_until = deadline_in_ms(work_start_wait_ms(work) + AGENT_REST_MS);
    return deadline_within_ms(work->agent_until, wait_ms);
}

int work_find_agent(struct work *work, struct agent_place *at, struct error **err)
{
    struct worker *worker = work->worker;
    return runtimes_agent(worker->runtimes, worker->db, work->sandbox.host_id,
                          work->sandbox.address, at, err);
}

int work_know_agent(struct work *work, struct agent_place *at, char *secret, struct error **err)
{
    const struct sandbox *sandbox = &work->sandbox;
    if (work_find_agent(work, at, err) < 0)
        return -1;
    return agent_secret(work->worker->ring, sandbox->instance_name, sandbox->agent_key_id, secret,
                        err);
}

/* Decide whether to ask an agent again that did not answer; 0: yes. The agent's start can take
 * longer than the lease. After a delete of the instance, waiting is useless. */
static int ask_again(struct work *work, struct deadline until, struct error **err)
{
    if ((*err)->code != ERR_RUNTIME_UNAVAILABLE || deadline_passed(until))
        return -1;
    error_clear(err);
    return work_still_ours(work, err) < 0 || work_check_host(work, err) < 0 ? -1 : 0;
}

/* Check that the agent comes from the memory. init->former is the secret of the replaced instance,
 * which only an agent in that memory knows. */
static int check_memory(struct work *work, const struct agent_place *at,
                        const struct agent_init *init, struct deadline until, struct error **err)
{
    bool knows;
    while (agent_knows(at, init->former, deadline_within_ms(until, AGENT_WAIT_MS), &knows, err) < 0)
        if (ask_again(work, until, err) < 0)
            return -1;
    /* An earlier attempt may have given it the new secret. */
    if (!knows &&
        agent_knows(at, init->secret, deadline_within_ms(until, AGENT_WAIT_MS), &knows, err) < 0)
        return -1;
    return knows ? 0
                 : error_set(err, ERR_MEMORY_NOT_KEPT,
                             "the host started instance %s from its disk instead of its memory",
                             work->sandbox.instance_name);
}

static int wait_for_agent(struct work *work, const struct agent_init *init, struct deadline until,
                          struct error **err)
{
    struct agent_place at;
    if (work_find_agent(work, &at, err) < 0 ||
        (init->former && check_memory(work, &at, init, until, err) < 0))
        return -1;
    while (agent_init(&at, init, deadline_within_ms(until, AGENT_WAIT_MS), err) < 0)
        if (ask_again(work, until, err) < 0)
            return -1;
    return 0;
}

int sandbox_open_envs(struct worker *worker, const char *id, struct buffer *envs, uint32_t *log_kib,
                      struct error **err)
{
    buffer_auto sealed = BUFFER_INIT(SANDBOX_ENVS_MAX + 128);
    if (sandbox_row_agent(worker->db, id, &sealed, log_kib, err) < 0)
        return -1;
    return sealed.size ? aead_open(worker->ring, sealed.data, sealed.size, id, envs, err) : 0;
}

/* Append the environment to envs, which the caller wipes. */
static int find_told(struct work *work, struct buffer *envs, uint32_t *log_kib, struct error **err)
{
    const struct agent_told *told = &work->told;
    if (!told->known)
        return sandbox_open_envs(work->worker, work->sandbox.id, envs, log_kib, err);
    *log_kib = told->log_kib;
    return !told->envs || buffer_append_string(envs, told->envs) == 0
               ? 0
               : error_set(err, ERR_INTERNAL, "the environment of %s is too large",
                           work->sandbox.id);
}

int work_succeed_agent(struct work *work, const struct former_agent *former, unsigned wait_ms,
                       struct error **err)
{
    const struct keyring *ring = work->worker->ring;
    struct sandbox *sandbox = &work->sandbox;
    struct buffer envs = BUFFER_INIT(SANDBOX_ENVS_MAX);
    char secret[AGENT_SECRET_SIZE], known[AGENT_SECRET_SIZE];
    struct agent_init init = {
        .sandbox_id = sandbox->id,
        .route = sandbox->route,
        .template = sandbox_made_from(sandbox),
        .secret = secret,
        .former = former ? known : NULL,
        .services = work->told.services,
        .hold_services_s = work->hold_services_s,
    };
    int result = -1;
    if (find_told(work, &envs, &init.log_kib, err) == 0 &&
        egress_authority(work->worker->db, ring, &init.authority, err) == 0 &&
        agent_secret(ring, sandbox->instance_name, sandbox->agent_key_id, secret, err) == 0 &&
        (!former || agent_secret(ring, former->instance_name, former->key_id, known, err) == 0)) {
        init.envs = buffer_string(&envs);
        result = wait_for_agent(work, &init, work_agent_deadline(work, wait_ms), err);
    }
    buffer_wipe(&envs);
    mem_wipe(secret, sizeof secret);
    mem_wipe(known, sizeof known);
    return result;
}

int work_init_agent(struct work *work, unsigned wait_ms, struct error **err)
{
    return work_succeed_agent(work, NULL, wait_ms, err);
}

void work_greet_agent(struct work *work)
{
    error_auto failure = NULL;
    if (work_init_agent(work, AGENT_WAIT_MS, &failure) < 0)
        log_warning("cannot initialise the agent of a running sandbox; calls to it may fail",
                    SANDBOX_LOG(&work->sandbox), LOG_ERROR(failure));
}

void work_hang_up(struct work *work)
{
    char secret[AGENT_SECRET_SIZE];
    struct agent_place at;
    error_auto failure = NULL;
    if (work_know_agent(work, &at, secret, &failure) < 0 ||
        agent_hang_up(&at, secret, work_agent_deadline(work, HANG_UP_MS), &failure) < 0)
        log_info("cannot disconnect the open streams of a sandbox; they may stay open",
                 SANDBOX_LOG(&work->sandbox), LOG_ERROR(failure));
    mem_wipe(secret, sizeof secret);
}

int work_agent_continues(struct work *work, unsigned wait_ms, bool *continues, struct error **err)
{
    char secret[AGENT_SECRET_SIZE];
    struct agent_place at;
    int result = work_know_agent(work, &at, secret, err);
    if (result == 0)
        result = agent_knows(&at, secret, work_agent_deadline(work, wait_ms), continues, err);
    mem_wipe(secret, sizeof secret);
    return result;
}

/* --- ending --- */

struct finish {
    struct work *work;
    enum sandbox_event event;
    const struct error *failure; /* NULL: none */
    struct sandbox row;          /* as written */
};

/* Set a passed deadline a while into the future, longer each time, so that it is acted on again. */
static void postpone(struct sandbox *sandbox, int64_t now_ms)
{
    unsigned doublings = sandbox->pause_failures < 5 ? sandbox->pause_failures : 5;
    int64_t again_ms = now_ms + ((int64_t)PAUSE_AGAIN_MS << doublings);
    if (sandbox->deadline_at_ms < now_ms + PAUSE_AGAIN_MS)
        sandbox->deadline_at_ms = again_ms;
    sandbox->pause_failures++;
}

static void set_stop_reason(struct sandbox *sandbox, const char *reason)
{
    snprintf(sandbox->stop_reason, sizeof sandbox->stop_reason, "%s", reason);
}

void sandbox_apply_event(struct sandbox *sandbox, enum sandbox_event event)
{
    int64_t now_ms = clock_now_ms();
    switch (event) {
    case SANDBOX_EVENT_CREATED:
    case SANDBOX_EVENT_RESUMED:
        sandbox->silent_since_ms = 0;
        sandbox->deadline_at_ms = now_ms + (int64_t)sandbox->timeout_s * 1000;
        sandbox->stopped_at_ms = 0;
        sandbox->stop_reason[0] = '\0';
        sandbox->pause_failures = 0;
        sandbox->cleanup_at_ms = 0;
        break;
    case SANDBOX_EVENT_PAUSED:
        set_stop_reason(sandbox, sandbox->moved_by);
        /* fall through */
    case SANDBOX_EVENT_DIED: /* its watcher has set the reason */
        sandbox->reserved = RESERVES_NOTHING;
        sandbox->silent_since_ms = 0;
        sandbox->deadline_at_ms = sandbox->hold_until_ms = 0;
        sandbox->stopped_at_ms = now_ms;
        sandbox->resumed_from[0] = '\0';
        break;
    case SANDBOX_EVENT_LOST:
        set_stop_reason(sandbox, STOPPED_HOST_LOST);
        sandbox->reserved = RESERVES_NOTHING;
        sandbox->silent_since_ms = 0;
        sandbox->deadline_at_ms = sandbox->network_due_at_ms = sandbox->hold_until_ms = 0;
        sandbox->resumed_from[0] = '\0';
        if (!sandbox->stopped_at_ms)
            sandbox->stopped_at_ms = now_ms;
        break;
    case SANDBOX_EVENT_PAUSE_FAILED:
        postpone(sandbox, now_ms);
        break;
    case SANDBOX_EVENT_RESUME_FAILED:
        sandbox->resumed_from[0] = '\0';
        sandbox->silent_since_ms = 0;
        if (!sandbox->stopped_at_ms) /* a rollback stopped it */
            sandbox->stopped_at_ms = now_ms;
        /* fall through */
    case SANDBOX_EVENT_DESTROYED:
        sandbox->reserved = RESERVES_NOTHING;
        sandbox->deadline_at_ms = sandbox->hold_until_ms = 0;
        break;
    default:
        break;
    }
}

/* Check whether the pause has kept the memory. */
static bool memory_is_kept(const struct finish *finish)
{
    return !finish->row.memory_left && !sandbox_has_volumes(&finish->row) && !finish->failure &&
           !finish->work->memory_lost[0];
}

/* Check whether the event ends the pause whose log is kept. */
static bool ends_kept_log(enum sandbox_event event)
{
    return event == SANDBOX_EVENT_RESUMED || event == SANDBOX_EVENT_PAUSE_FAILED ||
           event == SANDBOX_EVENT_DESTROYED;
}

/* Check whether the event deletes the memory image. A resume that failed may have left it; a
 * rollback removes it with the instance. */
static bool ends_memory_image(const struct finish *finish)
{
    switch (finish->event) {
    case SANDBOX_EVENT_PAUSED:
        return !memory_is_kept(finish);
    case SANDBOX_EVENT_RESUME_FAILED:
        return finish->work->operation.kind == OPERATION_ROLLBACK;
    case SANDBOX_EVENT_PAUSE_FAILED:
    case SANDBOX_EVENT_RESUMED:
    case SANDBOX_EVENT_DESTROYED:
        return true;
    default:
        return false;
    }
}

/* A sandbox that was stopped only to move keeps its deadline. */
static int keep_deadline(struct db *db, struct sandbox *row, enum sandbox_event event,
                         struct error **err)
{
    struct move move;
    bool found = false;
    if (event == SANDBOX_EVENT_RESUMED && move_find(db, row->id, &move, &found, err) < 0)
        return -1;
    if (found && move.deadline_at_ms)
        row->deadline_at_ms = move.deadline_at_ms;
    return 0;
}

/* A sandbox that is stopped in the middle of a move keeps its reservation, and its hold. */
static int keep_reservation(struct db *db, struct sandbox *row, enum sandbox_event event,
                            bool was_reserved, int64_t held_until_ms, struct error **err)
{
    bool goes_on = false;
    if (row->state != SANDBOX_STOPPED || event == SANDBOX_EVENT_LOST || !was_reserved)
        return 0;
    if (move_goes_on(db, row->id, &goes_on, err) < 0)
        return -1;
    row->reserved = goes_on ? RESERVES_ALL : RESERVES_NOTHING;
    if (goes_on)
        row->hold_until_ms = held_until_ms;
    return 0;
}

static int tell_finish(struct db *db, const struct finish *finish, struct error **err)
{
    switch (finish->event) {
    case SANDBOX_EVENT_PAUSE_FAILED:
        return work_tell_failed(finish->work, db, "pause", finish->failure, err);
    case SANDBOX_EVENT_RESUME_FAILED:
        return work_tell_failed(finish->work, db, "resume", finish->failure, err);
    default:
        return sandbox_tell_move(db, &finish->row, finish->event, memory_is_kept(finish), err);
    }
}

/* The row does not have the operation any more. Success if an earlier try has written this result:
 * the answer to its COMMIT can get lost, and the next operation can begin before this try. */
static int find_written(struct db *db, const struct finish *finish, struct error **err)
{
    const char *id = finish->work->operation.id;
    enum operation_state state;
    autofree char *failure = NULL;
    if (operation_outcome(db, id, &state, &failure, err) < 0)
        return -1;
    bool written = state == (finish->failure ? OPERATION_FAILED : OPERATION_DONE);
    bool deleted = !sandbox_state_is_shown(finish->row.state);
    if (written && deleted == (finish->event == SANDBOX_EVENT_DESTROYED))
        return 0;
    return error_set(err, ERR_LEASE_LOST, "another process has ended operation %s", id);
}

static int finish_body(struct db *db, void *context, struct error **err)
{
    struct finish *finish = context;
    const struct sandbox *before = &finish->work->sandbox;
    const struct operation *operation = &finish->work->operation;
    struct sandbox *row = &finish->row;
    enum sandbox_state to;
    sandbox_deinit(row);
    if (sandbox_state_next(before->state, finish->event, &to, err) < 0 ||
        sandbox_get_any(db, before->id, true, row, err) < 0)
        return -1;
    if (strcmp(row->operation_id, operation->id))
        return find_written(db, finish, err);
    /* Volumes are locked before teams and hosts, as by a create. */
    if (to == SANDBOX_DESTROYED && volume_mounts_detach(db, row->id, err) < 0)
        return -1;
    memcpy(row->resumed_from, before->resumed_from, sizeof row->resumed_from);
    row->state = to;
    row->operation_id[0] = '\0';
    bool was_reserved = row->reserved == RESERVES_ALL;
    int64_t held_until_ms = row->hold_until_ms;
    sandbox_apply_event(row, finish->event);
    if (keep_deadline(db, row, finish->event, err) < 0 ||
        keep_reservation(db, row, finish->event, was_reserved, held_until_ms, err) < 0)
        return -1;
    if (work_network_settle(finish->work, db, row, err) < 0)
        return -1;
    if (sandbox_row_update(db, row, err) < 0 || follow_usage(db, row, finish->event, err) < 0 ||
        operation_end(db, operation, finish->failure ? finish->failure->message : NULL,
                      finish->work->memory_lost, err) < 0 ||
        tell_finish(db, finish, err) < 0)
        return -1;
    if (finish->work->settle && finish->work->settle(db, finish->work->settle_context, err) < 0)
        return -1;
    if (to == SANDBOX_DESTROYED &&
        (sandbox_row_destroyed(db, row, err) < 0 ||
         host_address_release(db, row->host_id, row->instance_name, err) < 0))
        return -1;
    if (ends_kept_log(finish->event) && kept_log_drop(db, row->id, err) < 0)
        return -1;
    if (ends_memory_image(finish) && memory_image_drop(db, row->id, err) < 0)
        return -1;
    if (sandbox_archive_settle(db, row, finish->event, err) < 0)
        return -1;
    fault_point(FAULT_FINISHING);
    return 0;
}

static void log_outcome(struct work *work, const char *outcome, const struct error *failure)
{
    const char *kind = operation_kind_name(work->operation.kind);
    int64_t duration_ms = clock_monotonic_ms() - work->started_ms;
    work->outcome = outcome;
    COUNT(COUNT_OPERATIONS, kind, outcome);
    OBSERVE(COUNT_OPERATION_SECONDS, duration_ms * 1000, kind);
    log_info("sandbox operation ended", LOG_STR("kind", kind), SANDBOX_LOG(&work->sandbox),
             LOG_STR("state", sandbox_state_name(work->sandbox.state)),
             LOG_INT("attempt", work->operation.attempts), LOG_INT("duration_ms", duration_ms),
             LOG_STR("failure", failure ? failure->message : NULL));
    log_context_set("operation", NULL);
}

int work_finish(struct work *work, enum sandbox_event event, const struct error *failure,
                struct error **err)
{
    struct finish finish = {.work = work, .event = event, .failure = failure};
    int64_t give_up_ms = clock_monotonic_ms() + FINISH_WAIT_MS;
    while (db_transaction(work->worker->db, finish_body, &finish, err) < 0) {
        if (!error_is_transient(*err) || clock_monotonic_ms() > give_up_ms) {
            sandbox_deinit(&finish.row);
            return -1;
        }
        error_clear(err);
        clock_sleep_ms(100);
    }
    sandbox_deinit(&work->sandbox);
    work->sandbox = finish.row;
    log_outcome(work, failure ? "failed" : "done", failure);
    return 0;
}

void work_defer(struct work *work, const struct error *failure)
{
    uint64_t delay_ms = 500u << (work->operation.attempts < 6 ? work->operation.attempts : 6);
    error_auto ignored = NULL;
    log_outcome(work, "deferred", failure);
    /* If this fails too, the lease runs out. */
    operation_defer(work->worker->db, &work->operation, delay_ms, failure->message, &ignored);
}

void work_await_host(struct work *work, const struct error *failure)
{
    error_auto ignored = NULL;
    log_outcome(work, "deferred", failure);
    operation_await_host(work->worker->db, &work->operation, HOST_AGAIN_MS, failure->message,
                         &ignored);
}

/* Set *shown to what a client may read of a failure whose own message is for the log, and return
 * -1. Return 0 for a failure whose message is for the client. */
static int reword(const struct work *work, const struct error *failure, struct error **shown)
{
    switch (failure->code) {
    case ERR_OUTCOME_UNKNOWN:
    case ERR_DB_UNAVAILABLE:
    case ERR_DB_FULL:
    case ERR_RUNTIME_UNAVAILABLE:
    case ERR_RUNTIME_FAILED:
        return error_set(shown, ERR_RUNTIME_UNAVAILABLE,
                         "The runtime is not available at the moment; try again in a few seconds.");
    case ERR_INSUFFICIENT_STORAGE:
        if (!work->runtime) /* refused before the operation began, with its own message */
            return 0;
        return error_set(
            shown, ERR_INSUFFICIENT_STORAGE,
            "The storage of the sandbox's host is full; delete unused files, or try again later.");
    case ERR_RUNTIME_STUCK:
        return error_set(
            shown, ERR_RUNTIME_UNAVAILABLE,
            "The sandbox did not start in time, and sandlot ended the start; try again.");
    case ERR_MOUNT_POINT: /* the disk of an existing sandbox; its own root has changed it */
        return error_set(shown, ERR_SANDBOX_NOT_STARTABLE,
                         "The sandbox cannot start from its disk: %s.", failure->message);
    case ERR_RUNTIME_SHORT:
        return error_set(shown, ERR_RUNTIME_UNAVAILABLE,
                         "The host could not save the sandbox's memory now. The sandbox keeps "
                         "running; try again in a few seconds.");
    case ERR_HOST_KEEPS_NO_MEMORY:
        return error_set(shown, ERR_RUNTIME_UNAVAILABLE,
                         "The host cannot save memory. The sandbox keeps running, and none of its "
                         "processes is the cause. The operator finds the cause with `sandlotctl "
                         "doctor` and in the host's logs.");
    case ERR_MEMORY_NOT_KEPT:
        if (!work->runtime) /* likewise */
            return 0;
        return error_set(shown, ERR_MEMORY_NOT_KEPT,
                         "The sandbox's memory cannot be saved, because a process uses a debugger, "
                         "io_uring or a namespace of its own. The sandbox keeps running.");
    default:
        return 0;
    }
}

int work_tell_failed(const struct work *work, struct db *db, const char *operation,
                     const struct error *failure, struct error **err)
{
    error_auto shown = NULL;
    bool is_reworded = reword(work, failure, &shown) < 0;
    return sandbox_tell_failed(db, &work->sandbox, operation, is_reworded ? shown : failure, err);
}

int work_public_error(struct work *work, struct error **err)
{
    error_auto shown = NULL;
    if ((*err)->code == ERR_LEASE_LOST) {
        error_clear(err);
        sandbox_auto row = {0};
        if (sandbox_get(work->worker->db, work->sandbox.id, &row, err) < 0)
            return -1;
        return error_set(err, ERR_SANDBOX_BUSY, "The sandbox is %s.",
                         sandbox_state_word(row.state));
    }
    if (reword(work, *err, &shown) == 0)
        return -1;
    log_warning("an operation of a sandbox failed", SANDBOX_LOG(&work->sandbox), LOG_ERROR(*err));
    error_clear(err);
    return error_move(err, &shown);
}

int wait_while_busy(struct worker *worker, int64_t give_up_ms, struct error **err)
{
    enum error_code code = (*err)->code;
    if ((code != ERR_SANDBOX_BUSY && code != ERR_SHARE_USED_UP) ||
        clock_monotonic_ms() >= give_up_ms)
        return -1;
    error_clear(err);
    pool_suspend_start(worker->pool);
    clock_sleep_ms(BUSY_POLL_MS);
    return 0;
}
