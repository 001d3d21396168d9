/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sandbox/sandbox_hook.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "runtime/agent_client.h"

#define REST_MS    2000 /* for the agent itself, besides the command */
#define RELEASE_MS 2000
/* A process that leaves the hook waits for so long, and looks for its end again after a quarter of
 * the time that it has run, within these bounds. */
#define LOOK_MS           300
#define LOOK_AGAIN_MIN_MS 250
#define LOOK_AGAIN_MAX_MS 2000

/* Teams share the processes that pause sandboxes at their deadlines, so these pauses wait for a
 * shorter time. */
static bool find(const struct work *work, enum hook_kind kind, json_t **hooks, struct hook *hook)
{
    const char *text = work->sandbox.hooks;
    *hooks = text && *text ? json_loads(text, 0, NULL) : NULL;
    if (!hook_find(*hooks, kind, hook))
        return false;
    bool asked = kind != HOOK_BEFORE_PAUSE || str_equal(work->sandbox.moved_by, MOVED_BY_REQUEST);
    if (!asked && hook->timeout_s > HOOK_TIMEOUT_DEFAULT_S)
        hook->timeout_s = HOOK_TIMEOUT_DEFAULT_S;
    return true;
}

static int renew(void *context, struct error **err)
{
    struct work *work = context;
    return lease_tick(&work->lease, err);
}

static int ask(struct work *work, enum hook_kind kind, const struct hook *hook, int *exit_code,
               struct error **err)
{
    char secret[AGENT_SECRET_SIZE];
    struct agent_place at;
    json_auto_t *call = json_pack("{s:s, s:s, s:i}", "cmd", hook->command, "cwd", "/", "timeout",
                                  (int)hook->timeout_s);
    if (hook->user)
        json_object_set_new(call, "user", json_string(hook->user));
    if (kind == HOOK_AFTER_RESUME)
        json_object_set_new(call, "envs",
                            json_pack("{s:s}", "SANDLOT_RESUMED_FROM", work->sandbox.resumed_from));
    if (work_know_agent(work, &at, secret, err) < 0)
        return -1;
    at.tick = renew;
    at.tick_context = work;
    unsigned wait_ms = work->leaves_hook ? LOOK_MS : hook->timeout_s * 1000;
    pool_suspend_start(work->worker->pool);
    int result = agent_hook(&at, secret, work->operation.id, call, wait_ms, exit_code, err);
    mem_wipe(secret, sizeof secret);
    return result;
}

static int64_t waited_ms(const struct work *work)
{
    return work->operation.hook_since_ms ? clock_now_ms() - work->operation.hook_since_ms : 0;
}

/* Turn each failure of the command and of the agent into one error. */
static int run(struct work *work, enum hook_kind kind, const struct hook *hook, struct error **err)
{
    error_auto failure = NULL;
    int exit_code;
    if (ask(work, kind, hook, &exit_code, &failure) < 0) {
        if (failure->code == ERR_HOOK_RUNS && work->leaves_hook &&
            waited_ms(work) < (int64_t)hook->timeout_s * 1000 + REST_MS)
            return error_move(err, &failure);
        return error_set(err, ERR_HOOK_FAILED, "The hook %s failed: %s", hook_name(kind),
                         failure->code == ERR_HOOK_RUNS ? "it has not ended." : failure->message);
    }
    if (exit_code == 0)
        return 0;
    if (exit_code > 0)
        return error_set(err, ERR_HOOK_FAILED, "The hook %s ended with exit status %d.",
                         hook_name(kind), exit_code);
    return error_set(err, ERR_HOOK_FAILED,
                     "The hook %s was killed by a signal, or after its timeout of %u s.",
                     hook_name(kind), hook->timeout_s);
}

int work_await_hook(struct work *work, struct error **err)
{
    int64_t delay_ms = waited_ms(work) / 4;
    if (delay_ms < LOOK_AGAIN_MIN_MS)
        delay_ms = LOOK_AGAIN_MIN_MS;
    if (delay_ms > LOOK_AGAIN_MAX_MS)
        delay_ms = LOOK_AGAIN_MAX_MS;
    return operation_await_hook(work->worker->db, &work->operation, (uint64_t)delay_ms, err);
}

void work_hold_services(struct work *work)
{
    json_t *hooks;
    struct hook hook;
    if (find(work, HOOK_AFTER_RESUME, &hooks, &hook))
        work->hold_services_s = hook.timeout_s + 2 * REST_MS / 1000;
    json_decref(hooks);
}

/* If this fails, they start when the agent has waited for long enough. */
static void release_services(struct work *work)
{
    char secret[AGENT_SECRET_SIZE];
    struct agent_place at;
    error_auto failure = NULL;
    if (work_know_agent(work, &at, secret, &failure) < 0 ||
        agent_services_release(&at, secret, deadline_in_ms(RELEASE_MS), &failure) < 0)
        log_info("cannot start the services of a sandbox; its agent starts them later",
                 SANDBOX_LOG(&work->sandbox), LOG_ERROR(failure));
    mem_wipe(secret, sizeof secret);
}

int work_run_hook(struct work *work, enum hook_kind kind, struct error **err)
{
    json_t *hooks;
    struct hook hook;
    error_auto failure = NULL;
    bool found = find(work, kind, &hooks, &hook);
    int result = found ? run(work, kind, &hook, &failure) : 0;
    json_decref(hooks);
    if (!found)
        return 0;
    /* A hook can take longer than all waits for the agent together may. Those behind it begin their
     * time again: without its hang-up, a pause would end the commands of connected clients. */
    work->agent_until = (struct deadline){0};
    if (result < 0 && failure->code == ERR_HOOK_RUNS)
        return error_move(err, &failure);
    if (result < 0 && (!hook.fails || work->in_transit)) {
        log_info("a hook of a sandbox failed; continuing without it", SANDBOX_LOG(&work->sandbox),
                 LOG_ERROR(failure));
        result = 0;
    }
    if (work_still_ours(work, err) < 0)
        return -1;
    if (result < 0)
        return error_move(err, &failure);
    if (work->hold_services_s)
        release_services(work);
    return 0;
}
