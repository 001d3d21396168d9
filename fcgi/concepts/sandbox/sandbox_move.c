/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Move a paused sandbox to another host with its disk, its memory and its address.
 *
 * The database row decides where the sandbox is. Until the row changes, the copy on the new host is
 * incomplete; afterwards the copy on the old host is outdated. Either copy is deleted during a hold
 * (worker/hold.h), because both instances have the same name and the sandbox may be about to
 * return.
 */

#include "base/clock.h"
#include "base/fault_point.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/notify.h"
#include "checkpoint/checkpoint_row.h"
#include "host/host.h"
#include "moving/moving.h"
#include "sandbox/lifecycle_steps.h"
#include "sandbox/reservation.h"
#include "sandbox/sandbox_archive.h"
#include "sandbox/sandbox_row.h"
#include "worker/hold.h"

/* A move that kills its dispatcher again and again must not prevent a resume. */
#define ATTEMPTS_MOST     3
#define STRAY_PATIENCE_MS 5000
#define LOOK_MS           20
#define WAIT_MOST_MS      (6 * 3600 * (int64_t)1000)

/* --- leftovers on the wrong host --- */

struct stray {
    struct worker *worker;
    const char *id, *instance_name;
    uint32_t host_id;
    bool held;
};

/* With the row locked, no move of the sandbox begins or ends. */
static int stray_body(struct db *db, void *context, struct error **err)
{
    struct stray *stray = context;
    sandbox_auto sandbox = {0};
    char id[ID_SIZE];
    enum sandbox_state state;
    stray->held = false;
    if (sandbox_get_any(db, stray->id, true, &sandbox, err) < 0 ||
        sandbox_row_of_instance(db, stray->host_id, stray->instance_name, id, &state, err) < 0)
        return -1;
    if (*id)
        return 0;
    stray->held = true;
    return hold_take(stray->worker, stray->host_id, stray->id, STRAY_PATIENCE_MS, err);
}

int sandbox_remove_stray(struct worker *worker, const char *id, uint32_t host_id,
                         const char *instance_name, struct error **err)
{
    struct stray stray = {worker, id, instance_name, host_id, false};
    struct runtime *runtime;
    if (runtimes_get(worker->runtimes, worker->db, host_id, &runtime, err) < 0)
        return -1;
    if (db_transaction(worker->db, stray_body, &stray, err) < 0)
        return hold_is_of_another(err) ? 0 : -1;
    if (!stray.held)
        return 0;
    runtime_limit(runtime, STRAY_PATIENCE_MS);
    int result = runtime->ops->destroy(runtime, instance_name, err);
    runtime_limit(runtime, 0);
    hold_end(worker, host_id, id, result < 0 ? *err : NULL);
    if (result == 0)
        log_info("deleted the old copy of a sandbox that has moved to another host",
                 LOG_STR("sandbox", id), LOG_INT("host", host_id));
    return result;
}

/* If this fails, the sweep of the host deletes it. */
static void clear_away(struct work *work, uint32_t host_id)
{
    error_auto failure = NULL;
    if (sandbox_remove_stray(work->worker, work->sandbox.id, host_id, work->sandbox.instance_name,
                             &failure) < 0)
        log_warning("cannot delete the old or unfinished copy of a moved sandbox; trying again",
                    SANDBOX_LOG(&work->sandbox), LOG_INT("host", host_id), LOG_ERROR(failure));
}

/* --- moving --- */

/* Both hosts must answer. */
static int tick(void *context, struct error **err)
{
    struct work *work = context;
    if (lease_tick(&work->lease, err) < 0 || work_check_host(work, err) < 0)
        return -1;
    return runtimes_check(work->worker->runtimes, work->worker->db, work->operation.host_id, err);
}

static int copy_to(struct work *work, struct error **err)
{
    struct worker *worker = work->worker;
    struct runtime *to;
    char source[INSTANCE_NAME_SIZE];
    if (runtimes_get(worker->runtimes, worker->db, work->operation.host_id, &to, err) < 0)
        return -1;
    to->tick = work->runtime->tick = tick;
    to->tick_context = work->runtime->tick_context = work;
    runtime_source_name(work->sandbox.template_version_id, source);
    int result =
        to->ops->transfer->receive(to, work->runtime, work->sandbox.instance_name, source, err);
    to->tick = NULL;
    return result;
}

/* Find out whether the sandbox is evicted. Its host then has no copy, and the new host will fetch
 * it from the archive. */
static int find_evicted(struct db *db, const struct sandbox *sandbox, struct archive *archive,
                        bool *evicted, struct error **err)
{
    if (archive_current(db, sandbox->id, archive, err) < 0)
        return -1;
    *evicted = archive->state == ARCHIVE_WHOLE && archive->evicted;
    return 0;
}

static int carry(struct work *work, struct error **err)
{
    archive_auto archive = {0};
    bool evicted;
    if (work->operation.attempts > ATTEMPTS_MOST)
        return error_set(err, ERR_RUNTIME_FAILED, "%u attempts were interrupted before their end",
                         work->operation.attempts - 1);
    if (find_evicted(work->worker->db, &work->sandbox, &archive, &evicted, err) < 0)
        return -1;
    if (evicted)
        return 0;
    if (work_open_runtime(work, err) < 0 || work_fetch_archived(work, err) < 0)
        return -1;
    return copy_to(work, err);
}

static int rehost(struct db *db, void *context, struct error **err)
{
    const struct work *work = context;
    uint32_t to_host = work->operation.host_id;
    sandbox_auto sandbox = {0};
    archive_auto archive = {0};
    bool evicted;
    if (sandbox_get_any(db, work->sandbox.id, false, &sandbox, err) < 0 ||
        find_evicted(db, &sandbox, &archive, &evicted, err) < 0 ||
        (evicted && archive_promise(db, archive.id, to_host, true, err) < 0) ||
        reservation_rehost(db, &sandbox, to_host, err) < 0)
        return -1;
    return sandbox_row_rehost(db, &work->sandbox, to_host, err);
}

static int stays(struct work *work, struct error **failure, struct error **err)
{
    if ((*failure)->code != ERR_LEASE_LOST &&
        work_finish(work, SANDBOX_EVENT_MOVE_FAILED, *failure, err) < 0)
        return -1;
    clear_away(work, work->operation.host_id);
    return error_move(err, failure);
}

int work_run_move(struct work *work, struct error **err)
{
    uint32_t from_host = work->sandbox.host_id;
    error_auto failure = NULL;
    fault_point(FAULT_MOVE_BEGUN);
    if (carry(work, &failure) < 0)
        return stays(work, &failure, err);
    fault_point(FAULT_MOVE_COPIED);
    work->settle = rehost;
    work->settle_context = work;
    if (work_finish(work, SANDBOX_EVENT_MOVED, NULL, err) < 0) {
        if ((*err)->code == ERR_LEASE_LOST)
            clear_away(work, work->operation.host_id);
        if ((*err)->code != ERR_NO_CAPACITY)
            return -1;
        error_move(&failure, err); /* another sandbox took the room for which the host was chosen */
        work->settle = NULL;
        return stays(work, &failure, err);
    }
    fault_point(FAULT_MOVE_FINISHED);
    clear_away(work, from_host);
    fault_point(FAULT_MOVE_REMOVED);
    return 0;
}

/* --- beginning --- */

struct beginning {
    struct work *work;
    const char *id;
    uint32_t to_host; /* 0: any host with room */
    /* Called inside the transaction, may refuse; may be NULL. */
    int (*note)(struct db *db, const char *id, struct error **err);
};

static int refuse(struct error **err, const char *why)
{
    return error_set(err, ERR_INVALID_REQUEST, "The sandbox cannot be moved: %s.", why);
}

static int check_sandbox(struct db *db, const struct sandbox *sandbox, struct error **err)
{
    bool forking;
    if (sandbox->state == SANDBOX_READY)
        return refuse(err, "it is running, and only a paused sandbox can be moved");
    if (sandbox->virtual_machine)
        return refuse(err, "it is a virtual machine");
    if (checkpoint_row_forking(db, sandbox->id, &forking, err) < 0)
        return -1;
    return forking ? error_set(err, ERR_SANDBOX_BUSY, "A fork is creating sandboxes from it.") : 0;
}

static int check_target(const struct sandbox *sandbox, const struct host *to, struct error **err)
{
    if (to->id == sandbox->host_id)
        return error_set(err, ERR_INVALID_REQUEST, "The sandbox is on host %s already.", to->name);
    if (to->state != HOST_ACTIVE)
        return error_set(err, ERR_INVALID_REQUEST, "Host %s does not accept new sandboxes.",
                         to->name);
    if (!host_answers(to))
        return error_set(err, ERR_INVALID_REQUEST, "Host %s does not answer.", to->name);
    if (!host_has_address(to, sandbox->address))
        return error_set(err, ERR_INVALID_REQUEST,
                         "The networks of host %s do not include the sandbox's address; add one "
                         "with `sandlotctl host add --network`.",
                         to->name);
    return 0;
}

/* A sandbox moves to the host of its volumes. When a host is drained, the volumes move first. */
static int choose_by_volumes(struct db *db, const struct beginning *beginning, uint32_t *host_id,
                             struct error **err)
{
    const struct sandbox *sandbox = &beginning->work->sandbox;
    *host_id = beginning->to_host;
    if (!sandbox_has_volumes(sandbox))
        return 0;
    if (sandbox_row_volumes_host(db, sandbox, host_id, err) < 0)
        return -1;
    if (*host_id == sandbox->host_id)
        return refuse(err, "it has volumes on its host; a drain moves the volumes first");
    if (beginning->to_host && beginning->to_host != *host_id)
        return refuse(err, "its volumes are on another host than the one you gave");
    return 0;
}

static int choose(struct db *db, const struct beginning *beginning, uint32_t *host_id,
                  struct error **err)
{
    const struct sandbox *sandbox = &beginning->work->sandbox;
    struct host to;
    if (choose_by_volumes(db, beginning, host_id, err) < 0)
        return -1;
    if (!*host_id) {
        if (host_move_target(db, sandbox->host_id, sandbox->address, &sandbox->resources, host_id,
                             err) < 0)
            return -1;
        return *host_id
                   ? 0
                   : error_set(err, ERR_NO_CAPACITY, "No other host has room for the sandbox now.");
    }
    if (host_get(db, *host_id, &to, err) < 0)
        return -1;
    int result = check_target(sandbox, &to, err);
    host_deinit(&to);
    return result;
}

static int begin_body(struct db *db, void *context, struct error **err)
{
    struct beginning *beginning = context;
    struct work *work = beginning->work;
    uint32_t to_host;
    sandbox_deinit(&work->sandbox);
    if (sandbox_get_any(db, beginning->id, true, &work->sandbox, err) < 0)
        return -1;
    if (!sandbox_state_is_shown(work->sandbox.state))
        return error_set(err, ERR_NOT_FOUND, "There is no such sandbox.");
    if (work_check_host(work, err) < 0 || check_sandbox(db, &work->sandbox, err) < 0 ||
        choose(db, beginning, &to_host, err) < 0 ||
        hold_check(db, work->sandbox.host_id, work->sandbox.id, err) < 0 ||
        hold_check(db, to_host, work->sandbox.id, err) < 0 ||
        host_disk_reserve(db, to_host, work->sandbox.resources.disk_gb, err) < 0 ||
        work_begin_locked(work, db, SANDBOX_EVENT_MOVE, OPERATION_MOVE, err) < 0 ||
        (beginning->note && beginning->note(db, work->sandbox.id, err) < 0))
        return -1;
    return operation_set_host(db, &work->operation, to_host, err);
}

static int begin(struct beginning *beginning, struct error **err)
{
    struct worker *worker = beginning->work->worker;
    int64_t give_up_ms = clock_monotonic_ms() + (int64_t)worker->settings->resume_wait_s * 1000;
    while (db_transaction(worker->db, begin_body, beginning, err) < 0)
        if (wait_while_busy(worker, give_up_ms, err) < 0)
            return -1;
    notify_send(worker->settings->api_socket, NOTIFY_MOVES);
    return 0;
}

int sandbox_move_for_room(struct worker *worker, const char *id, struct error **err)
{
    work_auto work = {.worker = worker, .queued = true};
    struct beginning beginning = {&work, id, 0, NULL};
    return begin(&beginning, err);
}

/* --- draining a host --- */

static int begin_leaving(void *context, const char *id, struct error **err)
{
    struct work *work = context;
    struct beginning beginning = {work, id, 0, NULL};
    return db_transaction(work->worker->db, begin_body, &beginning, err);
}

int work_begin_leaving(struct work *work, struct worker *worker, bool *begun, struct error **err)
{
    char ids[MOVE_LISTED_MOST][ID_SIZE];
    unsigned count;
    *begun = false;
    work->worker = worker;
    if (sandbox_row_leaving(worker->db, clock_now_ms() - MOVE_AGAIN_MS, MOVE_LISTED_MOST, ids,
                            &count, err) < 0 ||
        moving_begin_first(ids, count, MOVE_AT_ONCE_MOST, begin_leaving, work, begun, err) < 0)
        return -1;
    if (*begun)
        work_start(work, worker);
    return 0;
}

int work_begin_move(struct work *work, struct worker *worker, const char *id, uint32_t to_host,
                    int (*note)(struct db *db, const char *id, struct error **err),
                    struct error **err)
{
    struct beginning beginning = {work, id, to_host, note};
    work->worker = worker;
    if (db_transaction(worker->db, begin_body, &beginning, err) < 0)
        return -1;
    work_start(work, worker);
    return 0;
}

/* --- waiting for its end --- */

static int conclude(struct worker *worker, const char *operation_id, int64_t give_up_ms,
                    bool *ended, struct error **err)
{
    enum operation_state state;
    autofree char *why = NULL;
    if (operation_outcome(worker->db, operation_id, &state, &why, err) < 0)
        return -1;
    *ended = state != OPERATION_RUNNING;
    if (!*ended && clock_monotonic_ms() >= give_up_ms)
        return error_set(err, ERR_SANDBOX_BUSY, "The move of the sandbox has not ended yet.");
    if (state == OPERATION_FAILED)
        return error_set(err, ERR_RUNTIME_REFUSED, "The sandbox stays on its host: %s.", why);
    return state == OPERATION_SUPERSEDED
               ? error_set(err, ERR_NOT_FOUND, "The sandbox was deleted meanwhile.")
               : 0;
}

int sandbox_move(struct worker *worker, const char *id, uint32_t to_host, struct sandbox *sandbox,
                 struct error **err)
{
    work_auto work = {.worker = worker, .queued = true};
    struct beginning beginning = {&work, id, to_host, NULL};
    int64_t give_up_ms = clock_monotonic_ms() + WAIT_MOST_MS;
    bool ended = false;
    if (begin(&beginning, err) < 0)
        return -1;
    while (!ended) {
        clock_sleep_ms(LOOK_MS);
        if (conclude(worker, work.operation.id, give_up_ms, &ended, err) < 0)
            return -1;
    }
    return sandbox_get(worker->db, id, sandbox, err);
}
