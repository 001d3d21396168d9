/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdio.h>

#include "base/clock.h"
#include "base/log.h"
#include "sandbox/host.h"
#include "sandbox/lifecycle_steps.h"
#include "sandbox/sandbox_row.h"

#define AGENT_CONTINUE_WAIT_MS 5000  /* an agent that came back with its memory */
#define AGENT_START_WAIT_MS    15000 /* one that the sandbox's init starts */

/* Bring the instance up and its agent to answer; a memory image that yields no working agent is
 * given up for the disk. */
static int start_instance(struct work *work, enum runtime_origin *origin, struct error **err)
{
    struct sandbox *sandbox = &work->sandbox;
    struct runtime *runtime = work->runtime;
    bool with_memory = !sandbox_has_volumes(sandbox);
    *origin = with_memory ? RUNTIME_FROM_MEMORY : RUNTIME_FROM_DISK;
    if (runtime->ops->resume(runtime, sandbox->instance_name, &sandbox->shape, with_memory, origin,
                             err) < 0)
        return -1;
    if (*origin == RUNTIME_FROM_DISK)
        return work_init_agent(work, AGENT_START_WAIT_MS, err);

    error_auto failure = NULL;
    if (work_init_agent(work, AGENT_CONTINUE_WAIT_MS, &failure) == 0)
        return 0;
    log_warning("resumed memory has no working agent, starting from disk",
                LOG_STR("sandbox", sandbox->id), LOG_ERROR(failure));
    if (runtime->ops->pause(runtime, sandbox->instance_name, &sandbox->shape, false, true, origin,
                            err) < 0 ||
        runtime->ops->resume(runtime, sandbox->instance_name, &sandbox->shape, false, origin, err) <
            0)
        return -1;
    *origin = RUNTIME_FROM_DISK;
    return work_init_agent(work, AGENT_START_WAIT_MS, err);
}

int work_run_resume(struct work *work, struct error **err)
{
    struct sandbox *sandbox = &work->sandbox;
    enum runtime_origin origin;
    error_auto failure = NULL;
    if (work_open_runtime(work, &failure) == 0 && start_instance(work, &origin, &failure) == 0) {
        snprintf(sandbox->resumed_from, sizeof sandbox->resumed_from, "%s",
                 origin == RUNTIME_FROM_MEMORY ? "memory" : "disk");
        return work_finish(work, SANDBOX_EVENT_RESUMED, NULL, err);
    }
    if (error_is_transient(failure) && work->operation.attempts < 5) {
        work_defer(work, failure);
        return error_move(err, &failure);
    }
    if (failure->code == ERR_LEASE_LOST)
        return error_move(err, &failure);
    /* It cannot be started: stopped with its disk is the truth, also for what half came up. */
    error_auto ignored = NULL;
    enum runtime_origin kept;
    if (work->runtime)
        work->runtime->ops->pause(work->runtime, sandbox->instance_name, &sandbox->shape, false,
                                  true, &kept, &ignored);
    if (work_finish(work, SANDBOX_EVENT_RESUME_FAILED, failure->message, err) < 0)
        return -1;
    return error_move(err, &failure);
}

struct admission {
    struct sandbox_service *service;
    uint64_t timeout_s;
    struct quota *quota;
    bool was_running;
};

/* Under the row's lock. A running sandbox only gets its deadline moved; a stopped one needs its
 * reservation back first. */
static int admit(struct db *db, struct sandbox *sandbox, void *context, struct error **err)
{
    struct admission *admission = context;
    struct plan plan;
    struct team team;
    admission->was_running = false;
    if (admission->timeout_s) {
        if (team_get_by_slug(db, sandbox->team_slug, &team, err) < 0 ||
            plan_get(db, team.plan, &plan, err) < 0)
            return -1;
        if (admission->timeout_s > plan.max_timeout_s)
            return error_set_field(err, ERR_INVALID_REQUEST, "/timeout",
                                   "The plan %s allows a timeout of at most %u seconds.", plan.name,
                                   plan.max_timeout_s);
        sandbox->timeout_s = (uint32_t)admission->timeout_s;
    }
    if (sandbox->state == SANDBOX_STOPPED)
        return quota_reserve(db, sandbox->team_id, &sandbox->shape, admission->quota, err) < 0
                   ? -1
                   : host_reserve(db, sandbox->host_id, &sandbox->shape, err);
    if (sandbox->state == SANDBOX_READY) {
        sandbox->deadline_at_ms = clock_now_ms() + (int64_t)sandbox->timeout_s * 1000;
        admission->was_running = true;
    }
    return 0;
}

/* A body of its own for the case that only moves a deadline: the move RESUME is not legal from
 * ready, so work_begin() would refuse after admit(). */
struct refresh {
    const char *id;
    struct admission *admission;
    struct sandbox *sandbox;
};

static int refresh_body(struct db *db, void *context, struct error **err)
{
    struct refresh *refresh = context;
    sandbox_deinit(refresh->sandbox);
    if (sandbox_get_any(db, refresh->id, true, refresh->sandbox, err) < 0)
        return -1;
    if (!sandbox_state_is_shown(refresh->sandbox->state))
        return error_set(err, ERR_NOT_FOUND, "There is no such sandbox.");
    refresh->admission->was_running = false;
    if (refresh->sandbox->state != SANDBOX_READY)
        return 0;
    if (admit(db, refresh->sandbox, refresh->admission, err) < 0)
        return -1;
    return sandbox_row_update(db, refresh->sandbox, err);
}

int sandbox_resume(struct sandbox_service *service, const char *id, uint64_t timeout_s,
                   struct sandbox *sandbox, struct quota *quota, struct error **err)
{
    int64_t give_up_ms = clock_monotonic_ms() + (int64_t)service->settings->resume_wait_s * 1000;
    struct admission admission = {service, timeout_s, quota, false};
    for (;;) {
        work_auto work = {.service = service};
        struct refresh refresh = {id, &admission, &work.sandbox};
        if (db_transaction(service->db, refresh_body, &refresh, err) < 0)
            return work_public_error(&work, err);
        if (admission.was_running) {
            *sandbox = work.sandbox;
            work.sandbox = (struct sandbox){0};
            return 0;
        }
        if (work_begin(&work, service, id, SANDBOX_EVENT_RESUME, OPERATION_RESUME, admit,
                       &admission, err) == 0) {
            if (work_run_resume(&work, err) < 0)
                return work_public_error(&work, err);
            *sandbox = work.sandbox;
            work.sandbox = (struct sandbox){0};
            return 0;
        }
        if ((*err)->code != ERR_SANDBOX_BUSY)
            return work_public_error(&work, err);
        if (wait_while_busy(give_up_ms, err) < 0)
            return -1;
    }
}
