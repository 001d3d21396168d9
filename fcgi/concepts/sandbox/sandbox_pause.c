/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/counters.h"
#include "base/fault_point.h"
#include "base/log.h"
#include "base/mem.h"
#include "checkpoint/memory_image.h"
#include "moving/moving.h"
#include "runtime/agent_client.h"
#include "sandbox/kept_log.h"
#include "sandbox/lifecycle_steps.h"
#include "sandbox/sandbox_hook.h"
#include "sandbox/sandbox_row.h"

#define WRITE_OUT_S  1
#define WRITE_OUT_MS 700
#define REBOOT_MS    5000

/* A sandbox that ended by itself during its pause has left no memory. */
static void note_end(struct work *work)
{
    if (!work->memory_lost[0])
        snprintf(work->memory_lost, sizeof work->memory_lost, "the sandbox ended before the pause");
}

/* Find the real state after the runtime refused to stop the sandbox. The words of the refusal do
 * not tell it, not even that there is no such instance: a failed dump comes with lines of CRIU's
 * log, and the guest chooses the paths in them. */
static int settle_refused_pause(struct work *work, struct error **failure, struct error **err)
{
    enum runtime_status status;
    bool missing = (*failure)->code == ERR_NOT_FOUND;
    if (work->runtime->ops->inspect(work->runtime, work->sandbox.instance_name, &status, err) < 0)
        return -1;
    bool runs = status == RUNTIME_RUNNING || status == RUNTIME_FROZEN || status == RUNTIME_OTHER;
    if (!runs && status != RUNTIME_PAUSED)
        note_end(work);
    if (!runs)
        return work_finish(work, SANDBOX_EVENT_PAUSED, missing ? *failure : NULL, err);
    if (missing)
        error_recode(failure, ERR_RUNTIME_REFUSED);
    if (work_finish(work, SANDBOX_EVENT_PAUSE_FAILED, *failure, err) < 0)
        return -1;
    work_greet_agent(work);
    return error_move(err, failure);
}

/* Choose the kind of pause. A client that leaves the memory behind wants a quick pause of the disk
 * as it is. A sandbox with volumes never keeps its memory, so its programs get time to end. */
static enum runtime_pause pause_of(const struct sandbox *sandbox)
{
    if (sandbox->memory_left)
        return RUNTIME_PAUSE_DISK_AT_ONCE;
    if (sandbox_has_volumes(sandbox))
        return RUNTIME_PAUSE_DISK;
    return sandbox->on_pause_failure == ON_PAUSE_FAILURE_DISK ? RUNTIME_PAUSE_MEMORY_OR_DISK
                                                              : RUNTIME_PAUSE_MEMORY;
}

/* Let the host write cached files of the sandbox to its disk, so that a failure of the host right
 * after the pause loses nothing. The pause does not wait for a slow disk. */
static void write_out(struct work *work)
{
    char secret[AGENT_SECRET_SIZE];
    struct agent_place at;
    error_auto failure = NULL;
    json_auto_t *answer = NULL;
    json_auto_t *call = json_pack("{s:s, s:[s, s], s:s, s:s, s:i}", "cmd", "sync", "args", "-f",
                                  "/", "user", "root", "cwd", "/", "timeout", WRITE_OUT_S);
    if (work_know_agent(work, &at, secret, &failure) < 0 ||
        agent_exec(&at, secret, call, work_agent_deadline(work, WRITE_OUT_MS), &answer, &failure) <
            0)
        log_info(
            "cannot flush the disk of a sandbox before its pause; pausing it without the flush",
            SANDBOX_LOG(&work->sandbox), LOG_ERROR(failure));
    mem_wipe(secret, sizeof secret);
}

static int take_image(struct db *db, void *context, struct error **err)
{
    return memory_image_take(db, context, err);
}

static bool keeps_memory(enum runtime_pause how)
{
    return how == RUNTIME_PAUSE_MEMORY || how == RUNTIME_PAUSE_MEMORY_OR_DISK;
}

/* Reserve the room for the memory. Without room, the pause keeps the disk only or is refused, as
 * when the memory cannot be saved. */
static int take_room(struct work *work, enum runtime_pause *how, struct error **err)
{
    const struct sandbox *sandbox = &work->sandbox;
    struct memory_image image = {.id = sandbox->id,
                                 .team_id = sandbox->team_id,
                                 .user_id = sandbox->created_by,
                                 .host_id = sandbox->host_id,
                                 .size_mb = sandbox->resources.memory_mb,
                                 .in_transit = work->in_transit};
    error_auto refusal = NULL;
    if (!keeps_memory(*how))
        return 0;
    if (db_transaction(work->worker->db, take_image, &image, &refusal) == 0)
        return 0;
    if (*how == RUNTIME_PAUSE_MEMORY ||
        (refusal->code != ERR_STOPPED_QUOTA_EXCEEDED && refusal->code != ERR_INSUFFICIENT_STORAGE))
        return error_move(err, &refusal);
    *how = RUNTIME_PAUSE_DISK;
    snprintf(work->memory_lost, sizeof work->memory_lost, "%s",
             refusal->code == ERR_INSUFFICIENT_STORAGE ? RUNTIME_POOL_SHORT : refusal->message);
    return 0;
}

/* While a program reboots the sandbox, its init ends all processes for REBOOT_MS at most. Memory
 * that is saved then ends the sandbox right after its resume. *left_ms: the rest of the time for
 * all waits of a pause. It is bounded because an agent can refuse connections without an end. */
static int await_reboot(struct work *work, enum runtime_pause how, unsigned *left_ms,
                        struct error **err)
{
    struct agent_place at;
    error_auto ignored = NULL;
    struct deadline until = deadline_in_ms(*left_ms);
    if (keeps_memory(how) && *left_ms && work_find_agent(work, &at, &ignored) == 0)
        agent_wait_while_refused(&at, work_agent_deadline(work, *left_ms));
    *left_ms = deadline_left_ms(until);
    return lease_tick(&work->lease, err);
}

/* Connections survive a pause with memory, but their clients would wait in vain until the resume.
 * So they are disconnected. */
static int pause_instance(struct work *work, enum runtime_origin *origin, struct error **err)
{
    struct sandbox *sandbox = &work->sandbox;
    struct runtime *runtime = work->runtime;
    enum runtime_pause how = pause_of(sandbox);
    bool hook_runs = work->operation.hook_since_ms;
    unsigned reboot_ms = REBOOT_MS;
    if (await_reboot(work, how, &reboot_ms, err) < 0 ||
        (hook_runs && work_run_hook(work, HOOK_BEFORE_PAUSE, err) < 0) ||
        take_room(work, &how, err) < 0 ||
        (!hook_runs && work_run_hook(work, HOOK_BEFORE_PAUSE, err) < 0))
        return -1;
    kept_log_take(work);
    if (how == RUNTIME_PAUSE_DISK_AT_ONCE)
        write_out(work);
    work_hang_up(work);
    fault_point(FAULT_PAUSE_HUNG_UP);
    /* A reboot may have begun meanwhile. */
    if (await_reboot(work, how, &reboot_ms, err) < 0 || work_wait_for_turn(work, err) < 0)
        return -1;
    int result =
        runtime->ops->pause(runtime, sandbox->instance_name, &sandbox->resources, how, origin, err);
    if (runtime->memory_lost[0])
        memcpy(work->memory_lost, runtime->memory_lost, sizeof work->memory_lost);
    if (result == 0 && keeps_memory(how) && *origin == RUNTIME_FROM_DISK)
        note_end(work);
    return result;
}

int work_run_pause(struct work *work, struct error **err)
{
    enum runtime_origin origin;
    error_auto failure = NULL;
    fault_point(FAULT_PAUSE_BEGUN);
    if (work_open_runtime(work, &failure) == 0 && work_tell_size(work, &failure) == 0 &&
        pause_instance(work, &origin, &failure) == 0) {
        fault_point(FAULT_PAUSE_STOPPED);
        if (work_finish(work, SANDBOX_EVENT_PAUSED, NULL, err) < 0)
            return -1;
        COUNT(COUNT_PAUSES, origin == RUNTIME_FROM_MEMORY ? "memory" : "disk");
        fault_point(FAULT_PAUSE_FINISHED);
        return 0;
    }
    if (failure->code == ERR_HOOK_RUNS)
        return work_await_hook(work, err);
    if (error_is_transient(failure)) {
        work_defer(work, failure);
        return error_move(err, &failure);
    }
    if (failure->code == ERR_LEASE_LOST || !work->runtime)
        return error_move(err, &failure);
    return settle_refused_pause(work, &failure, err);
}

/* context: whether to keep the memory. */
static int admit(struct db *db, struct sandbox *sandbox, void *context, struct error **err)
{
    (void)db;
    (void)err;
    sandbox->memory_left = !*(const bool *)context;
    snprintf(sandbox->moved_by, sizeof sandbox->moved_by, "%s", MOVED_BY_REQUEST);
    return 0;
}

/* Delete the move of a paused sandbox, and free its reservation. */
static int stay_body(struct db *db, void *context, struct error **err)
{
    const char *id = context;
    sandbox_auto sandbox = {0};
    if (sandbox_get_any(db, id, true, &sandbox, err) < 0 ||
        move_forget(db, id, MOVE_SANDBOX, err) < 0)
        return -1;
    return sandbox_row_free_stopped(db, &sandbox, err);
}

static int stay(struct worker *worker, const char *id, struct error **err)
{
    struct move move;
    bool found;
    char copy[ID_SIZE];
    snprintf(copy, sizeof copy, "%s", id);
    if (move_find(worker->db, id, &move, &found, err) < 0)
        return -1;
    return found ? db_transaction(worker->db, stay_body, copy, err) : 0;
}

int sandbox_pause(struct worker *worker, const char *id, bool keep_memory, struct sandbox *sandbox,
                  struct error **err)
{
    int64_t give_up_ms = clock_monotonic_ms() + (int64_t)worker->settings->resume_wait_s * 1000;
    /* A running move would resume it, so the move is ended first. */
    if (stay(worker, id, err) < 0)
        return -1;
    for (;;) {
        work_auto work = {.worker = worker};
        if (work_begin(&work, worker, id, SANDBOX_EVENT_PAUSE, OPERATION_PAUSE, admit, &keep_memory,
                       err) == 0) {
            if (work_run_pause(&work, err) < 0)
                return work_public_error(&work, err);
            *sandbox = work.sandbox;
            work.sandbox = (struct sandbox){0};
            return 0;
        }
        if (error_clear_if(err, ERR_SANDBOX_NOT_RUNNING)) /* by this call, or the one it joined */
            return sandbox_get(worker->db, id, sandbox, err);
        if (wait_while_busy(worker, give_up_ms, err) < 0)
            return work_public_error(&work, err);
    }
}
