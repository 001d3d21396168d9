/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/process/hook.h"

#include <stdlib.h>
#include <sys/wait.h>

#include "agent/agent.h"
#include "agent/common/proto.h"
#include "agent/framework/connect_rpc.h"
#include "agent/process/exec.h"
#include "agent/process/exec_call.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"

#define WAIT_MAX_MS 60000

static struct {
    char *key; /* NULL: there was none */
    struct process_follower follower;
    json_t *end;             /* NULL: it runs */
    struct request *waiting; /* NULL: no caller waits */
    struct loop_timer patience;
} hook;

/* --- the caller that waits --- */

static void forget_caller(void)
{
    if (hook.waiting) {
        loop_timer_disarm(&hook.waiting->agent->loop, &hook.patience);
        hook.waiting->state = NULL;
    }
    hook.waiting = NULL;
}

static void tell(void)
{
    struct request *request = hook.waiting;
    if (!request)
        return;
    forget_caller();
    httpd_reply_json(&request->http, hook.end ? 200 : 202,
                     hook.end ? json_incref(hook.end) : json_object());
}

static void on_patience_over(struct loop_timer *timer)
{
    (void)timer;
    tell();
}

void hook_closed(struct request *request)
{
    if (hook.waiting == request)
        forget_caller();
}

static void on_peer_gone(struct request *request)
{
    hook_closed(request);
    httpd_resume(&request->http);
}

static void await(struct request *request, int64_t wait_ms)
{
    tell(); /* an earlier caller */
    hook.waiting = request;
    request->state = &hook;
    httpd_suspend(&request->http);
    request_watch_peer(request, on_peer_gone);
    loop_timer_arm(&request->agent->loop, &hook.patience, clock_monotonic_ms() + wait_ms,
                   on_patience_over);
}

/* --- its command --- */

static void on_ended(struct process_follower *follower, const struct process_end *end)
{
    (void)follower;
    int status = end->wait_status;
    hook.end = json_pack("{s:o}", "exit_code",
                         WIFEXITED(status) ? json_integer(WEXITSTATUS(status)) : json_null());
    tell();
}

static const struct process_follower_events events = {.ended = on_ended};

static void drop(void)
{
    struct process *process = hook.follower.process;
    tell();
    if (process) {
        process_unfollow(&hook.follower);
        process_kill(process);
    }
    free(hook.key);
    json_decref(hook.end);
    hook.key = NULL;
    hook.end = NULL;
}

static int begin(struct request *request, const char *key, const json_t *message,
                 struct rpc_error *error)
{
    exec_call_auto call = {.args = NULL};
    struct process *process;
    if (exec_call_read(message, &call, error) < 0 ||
        exec_launch(request, &call, &process, error) < 0)
        return -1;
    drop();
    hook.key = xstrdup(key);
    hook.follower.events = &events;
    process_follow(process, &hook.follower);
    process_limit(process, call.timeout_ms);
    return 0;
}

int hook_finish(struct request *request, struct rpc_error *error)
{
    const char *key;
    const json_t *message;
    int64_t wait_ms;
    json_auto_t *body = rpc_parse_body(request, error);
    if (!body || proto_string(body, "key", &key, error) < 0 ||
        proto_object(body, "exec", &message, error) < 0 ||
        proto_integer(body, "waitMs", 0, WAIT_MAX_MS, &wait_ms, error) < 0)
        return -1;
    if (!*key || !message)
        return rpc_error_set(error, RPC_INVALID_ARGUMENT, "a hook needs key and exec");
    if (!str_equal(hook.key, key) && begin(request, key, message, error) < 0)
        return -1;
    await(request, wait_ms);
    if (hook.end)
        tell();
    return 0;
}
