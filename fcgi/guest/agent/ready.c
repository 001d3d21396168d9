/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/ready.h"

#include <stdlib.h>
#include <unistd.h>

#include "agent/agent.h"
#include "agent/common/users.h"
#include "agent/process/process.h"
#include "agent/process/process_launch.h"
#include "agent/process/session_kill.h"
#include "agent/services.h"
#include "base/clock.h"
#include "base/mem.h"

#define PAUSE_MS 200

static struct {
    struct agent *agent;
    char *command;           /* NULL: there is nothing to wait for */
    struct process *process; /* NULL: not running */
    struct process_follower follower;
    struct loop_timer timer; /* the next try, or the end of the wait */
    int64_t until_ms;
    struct request *waiting; /* NULL: none */
} ready;

static void reply(void)
{
    struct request *request = ready.waiting;
    ready.waiting = NULL;
    if (!request)
        return;
    request->state = NULL;
    httpd_reply_empty(&request->http, 204);
}

static void finish(void)
{
    loop_timer_disarm(&ready.agent->loop, &ready.timer);
    if (ready.process) {
        process_unfollow(&ready.follower);
        session_kill(ready.process->pid);
    }
    ready.process = NULL;
    free(ready.command);
    ready.command = NULL;
    reply();
}

/* --- its command --- */

static void try(void);

static void on_due(struct loop_timer *timer)
{
    (void)timer;
    try();
}

static void on_over(struct loop_timer *timer)
{
    (void)timer;
    finish();
}

static void on_ended(struct process_follower *follower, const struct process_end *end)
{
    (void)follower;
    int64_t next_ms = clock_monotonic_ms() + PAUSE_MS;
    ready.process = NULL;
    if (!end->wait_status || next_ms >= ready.until_ms || services_start_failed())
        finish();
    else
        loop_timer_arm(&ready.agent->loop, &ready.timer, next_ms, on_due);
}

static const struct process_follower_events events = {.ended = on_ended};

static void try(void)
{
    user_auto user = {.name = NULL};
    struct rpc_error error;
    json_auto_t *args = json_pack("[s, s]", "-c", ready.command);
    const struct process_call call = {
        .command = access("/bin/bash", X_OK) == 0 ? "/bin/bash" : "/bin/sh",
        .cwd = "",
        .args = args,
    };
    if (users_find(ready.agent->default_user, &user, &error) < 0 ||
        process_launch(ready.agent, &user, &call, &ready.process, &error) < 0) {
        ready.process = NULL;
        finish();
        return;
    }
    ready.follower = (struct process_follower){.events = &events};
    process_follow(ready.process, &ready.follower);
    loop_timer_arm(&ready.agent->loop, &ready.timer, ready.until_ms, on_over);
}

void ready_begin(struct agent *agent, const char *command)
{
    ready.agent = agent;
    ready.command = xstrdup(command);
    ready.until_ms = clock_monotonic_ms() + READY_WAIT_MS;
    try();
}

/* --- the request that waits --- */

void ready_closed(struct request *request)
{
    if (ready.waiting == request)
        ready.waiting = NULL;
}

static void on_peer_gone(struct request *request)
{
    ready_closed(request);
    httpd_resume(&request->http);
}

bool ready_await(struct request *request)
{
    if (!ready.command)
        return false;
    reply();
    ready.waiting = request;
    request->state = &ready;
    httpd_suspend(&request->http);
    request_watch_peer(request, on_peer_gone);
    return true;
}
