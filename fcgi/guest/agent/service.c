/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/service.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "agent/agent.h"
#include "agent/common/proto.h"
#include "agent/common/users.h"
#include "agent/process/process_end.h"
#include "agent/process/process_launch.h"
#include "agent/process/session_kill.h"
#include "agent/service_record.h"
#include "agent/services.h"
#include "base/clock.h"
#include "base/guest_limits.h"
#include "base/mem.h"
#include "base/signal_name.h"
#include "base/str.h"

#define SHELL             "/bin/sh"
#define HEALTH_INTERVAL_S 30
#define HEALTH_TIMEOUT_S  5

static const char *const restart_words[] = {
    [SERVICE_RESTART_NO] = "no",
    [SERVICE_RESTART_ON_FAILURE] = "on-failure",
    [SERVICE_RESTART_ALWAYS] = "always",
};
static const char *const state_words[] = {
    [SERVICE_RUNNING] = "running", [SERVICE_STOPPING] = "stopping", [SERVICE_WAITING] = "waiting",
    [SERVICE_ENDED] = "ended",     [SERVICE_FAILED] = "failed",
};

/* --- reading --- */

static int read_health(struct service *service, struct rpc_error *error)
{
    struct service_health *health = &service->health;
    const json_t *object;
    int64_t interval_s = 0, timeout_s = 0;
    if (proto_object(service->spec, "health", &object, error) < 0)
        return -1;
    if (!object)
        return 0;
    if (proto_string(object, "command", &health->command, error) < 0 ||
        proto_integer(object, "interval", 0, SERVICE_INTERVAL_MAX_S, &interval_s, error) < 0 ||
        proto_integer(object, "timeout", 0, SERVICE_TIMEOUT_MAX_S, &timeout_s, error) < 0)
        return -1;
    if (!*health->command)
        return rpc_error_set(error, RPC_INVALID_ARGUMENT, "health has no command");
    health->interval_ms = (interval_s ? interval_s : HEALTH_INTERVAL_S) * 1000;
    health->timeout_ms = (timeout_s ? timeout_s : HEALTH_TIMEOUT_S) * 1000;
    return 0;
}

static int read_restart(struct service *service, struct rpc_error *error)
{
    const char *word;
    if (proto_string(service->spec, "restart", &word, error) < 0)
        return -1;
    service->restart = SERVICE_RESTART_ON_FAILURE;
    for (size_t i = 0; i < ARRAY_SIZE(restart_words); i++)
        if (str_equal(word, restart_words[i])) {
            service->restart = (enum service_restart)i;
            return 0;
        }
    return *word ? rpc_error_set(error, RPC_INVALID_ARGUMENT, "restart has an unknown value") : 0;
}

static int read_stop_signal(struct service *service, struct rpc_error *error)
{
    const char *word;
    service->stop_signal = SIGTERM;
    if (proto_string(service->spec, "stop_signal", &word, error) < 0)
        return -1;
    if (*word)
        service->stop_signal = signal_number(word);
    return service->stop_signal
               ? 0
               : rpc_error_set(error, RPC_INVALID_ARGUMENT, "stop_signal has an unknown value");
}

static int read_spec(struct service *service, struct rpc_error *error)
{
    const json_t *envs, *spec = service->spec;
    if (!json_is_object(spec))
        return rpc_error_set(error, RPC_INVALID_ARGUMENT, "a service is not an object");
    if (proto_string(spec, "name", &service->name, error) < 0 ||
        proto_string(spec, "command", &service->command, error) < 0 ||
        proto_string(spec, "user", &service->user, error) < 0 ||
        proto_string(spec, "cwd", &service->cwd, error) < 0 ||
        proto_bool(spec, "login", false, &service->by_login, error) < 0 ||
        proto_object(spec, "envs", &envs, error) < 0 || read_restart(service, error) < 0 ||
        read_stop_signal(service, error) < 0 || read_health(service, error) < 0)
        return -1;
    if (!str_is_name(service->name, SERVICE_NAME_MAX) || !*service->command ||
        strlen(service->user) > USER_NAME_MAX)
        return rpc_error_set(error, RPC_INVALID_ARGUMENT,
                             "a service has no name, no command, or an invalid user");
    return 0;
}

/* --- its processes --- */

static int launch(struct service *service, const char *command, const char *tag,
                  struct process **process, struct rpc_error *error)
{
    user_auto user = {.name = NULL};
    const char *name = *service->user ? service->user : service->agent->default_user;
    if (users_find(name, &user, error) < 0)
        return -1;
    json_auto_t *args = service->by_login ? json_pack("[s, s, s]", "-l", "-c", command)
                                          : json_pack("[s, s]", "-c", command);
    struct process_call call = {
        .cwd = service->cwd,
        .tag = tag,
        .args = args,
        .envs = json_object_get(service->spec, "envs"),
    };
    call.command = service->by_login && user.shell && *user.shell ? user.shell : SHELL;
    return process_launch(service->agent, &user, &call, process, error);
}

/* Its end comes with SIGCHLD: process_kill() could change the list that process_reap() walks. */
static void end_health(struct service_health *health, struct loop *loop)
{
    loop_timer_disarm(loop, &health->next);
    if (!health->process)
        return;
    process_unfollow(&health->follower);
    session_kill(health->process->pid);
    health->process = NULL;
}

static void on_start_due(struct loop_timer *timer)
{
    service_start(container_of(timer, struct service, timer));
}

static void wait_for_start(struct service *service)
{
    int64_t ran_ms = clock_monotonic_ms() - service->began_ms;
    if (ran_ms >= SERVICE_BACKOFF_MOST_MS)
        service->doublings = 0;
    int64_t wait_ms = (int64_t)SERVICE_BACKOFF_MS << service->doublings;
    if (wait_ms < SERVICE_BACKOFF_MOST_MS)
        service->doublings++;
    else
        wait_ms = SERVICE_BACKOFF_MOST_MS;
    service->state = SERVICE_WAITING;
    service->next_start_at_ms = clock_now_ms() + wait_ms;
    loop_timer_arm(&service->agent->loop, &service->timer, clock_monotonic_ms() + wait_ms,
                   on_start_due);
}

/* pid: whose session may have processes left; 0: none. Without a restart they may stay, as a start
 * command may leave servers in the background. */
static void settle(struct service *service, pid_t pid, bool failed)
{
    struct loop *loop = &service->agent->loop;
    bool again = service->by_hand || service->restart == SERVICE_RESTART_ALWAYS ||
                 (failed && service->restart == SERVICE_RESTART_ON_FAILURE);
    loop_timer_disarm(loop, &service->timer);
    end_health(&service->health, loop);
    service->process = NULL;
    service->ended_at_ms = clock_now_ms();
    service->state = failed ? SERVICE_FAILED : SERVICE_ENDED;
    if (again && pid)
        session_kill(pid);
    if (service_records_are_stopped())
        again = false;
    if (service->by_hand && again) {
        service->by_hand = false;
        service_start(service);
    } else if (again) {
        wait_for_start(service);
    }
    services_record(service->agent);
}

static void on_output(struct process_follower *follower, enum process_output_kind kind,
                      uint64_t offset, const char *data, size_t size)
{
    struct service *service = container_of(follower, struct service, follower);
    process_log_append(&service->log, follower->process->log_source, kind, offset, data, size);
}

static void on_end(struct process_follower *follower, const struct process_end *end)
{
    struct service *service = container_of(follower, struct service, follower);
    json_auto_t *event = process_end_event(end);
    const json_t *told = json_object_get(json_object_get(event, "event"), "end");
    const char *status = json_string_value(json_object_get(told, "status"));
    service->exit_code = WIFEXITED(end->wait_status) ? WEXITSTATUS(end->wait_status) : -1;
    if (service->unhealthy)
        snprintf(service->reason, sizeof service->reason, "its health command failed %d times",
                 SERVICE_MISSES);
    else
        snprintf(service->reason, sizeof service->reason, "%s",
                 *end->message ? end->message : status);
    if (str_equal(service->name, SERVICE_OF_TEMPLATE))
        services_record_start_end(service);
    settle(service, service->process->pid, service->exit_code != 0 || service->unhealthy);
}

static const struct process_follower_events main_events = {.output = on_output, .ended = on_end};

/* --- health --- */

static void arm_health(struct service *service);

static void on_health_output(struct process_follower *follower, enum process_output_kind kind,
                             uint64_t offset, const char *data, size_t size)
{
    struct service *service = container_of(follower, struct service, health.follower);
    process_log_append(&service->log, follower->process->log_source, kind, offset, data, size);
}

static void on_kill_due(struct loop_timer *timer)
{
    struct service *service = container_of(timer, struct service, timer);
    if (service->process)
        process_kill(service->process);
}

static void stop(struct service *service)
{
    struct rpc_error ignored;
    service->state = SERVICE_STOPPING;
    end_health(&service->health, &service->agent->loop);
    loop_timer_arm(&service->agent->loop, &service->timer, clock_monotonic_ms() + SERVICE_STOP_MS,
                   on_kill_due);
    process_signal(service->process, service->stop_signal, &ignored);
}

static void note_health(struct service *service, bool healthy)
{
    struct service_health *health = &service->health;
    health->known = true;
    health->misses = healthy ? 0 : health->misses + 1;
    if (health->misses >= SERVICE_MISSES && service->restart != SERVICE_RESTART_NO) {
        service->unhealthy = true;
        stop(service);
        return;
    }
    arm_health(service);
}

static void on_health_end(struct process_follower *follower, const struct process_end *end)
{
    struct service *service = container_of(follower, struct service, health.follower);
    service->health.process = NULL;
    note_health(service, end->wait_status == 0);
}

static const struct process_follower_events health_events = {.output = on_health_output,
                                                             .ended = on_health_end};

static void on_health_due(struct loop_timer *timer)
{
    struct service *service = container_of(timer, struct service, health.next);
    struct service_health *health = &service->health;
    struct rpc_error error;
    if (launch(service, health->command, NULL, &health->process, &error) < 0) {
        health->process = NULL;
        note_health(service, false);
        return;
    }
    process_limit(health->process, health->timeout_ms);
    health->follower = (struct process_follower){.events = &health_events};
    process_follow(health->process, &health->follower);
}

static void arm_health(struct service *service)
{
    struct service_health *health = &service->health;
    int64_t wait_ms = health->known ? health->interval_ms : 1000;
    if (wait_ms > health->interval_ms)
        wait_ms = health->interval_ms;
    if (health->command)
        loop_timer_arm(&service->agent->loop, &health->next, clock_monotonic_ms() + wait_ms,
                       on_health_due);
}

/* --- the interface --- */

struct service *service_new(struct agent *agent, json_t *spec, struct rpc_error *error)
{
    struct service *service = xcalloc(1, sizeof *service);
    service->agent = agent;
    service->spec = json_incref(spec);
    service->state = SERVICE_ENDED;
    process_log_init(&service->log);
    process_log_set_max(&service->log, SERVICE_LOG_MAX);
    if (read_spec(service, error) == 0)
        return service;
    service_free(service);
    return NULL;
}

void service_free(struct service *service)
{
    struct loop *loop = &service->agent->loop;
    loop_timer_disarm(loop, &service->timer);
    end_health(&service->health, loop);
    if (service->process) {
        process_unfollow(&service->follower);
        process_kill(service->process);
    }
    process_log_clear(&service->log);
    json_decref(service->spec);
    free(service);
}

void service_start(struct service *service)
{
    struct rpc_error error;
    loop_timer_disarm(&service->agent->loop, &service->timer);
    if (service->started_at_ms)
        service->restarts++;
    service->began_ms = clock_monotonic_ms();
    service->started_at_ms = clock_now_ms();
    service->next_start_at_ms = 0;
    service->held = false;
    service->health.misses = 0;
    service->health.known = service->unhealthy = false;
    if (launch(service, service->command, service->name, &service->process, &error) < 0) {
        service->exit_code = -1;
        snprintf(service->reason, sizeof service->reason, "%.*s", PROCESS_MESSAGE_SIZE - 1,
                 error.message);
        settle(service, 0, true);
        return;
    }
    service->state = SERVICE_RUNNING;
    service->follower = (struct process_follower){.events = &main_events};
    process_follow(service->process, &service->follower);
    arm_health(service);
    services_record(service->agent);
}

void service_restart(struct service *service)
{
    service->doublings = 0;
    if (!service->process) {
        service_start(service);
        return;
    }
    service->by_hand = true;
    if (service->state != SERVICE_STOPPING)
        stop(service);
}

static const char *health_word(const struct service *service)
{
    const struct service_health *health = &service->health;
    if (!health->command || !service->process)
        return NULL;
    if (!health->known)
        return "starting";
    return health->misses >= SERVICE_MISSES ? "unhealthy" : "healthy";
}

static json_t *time_or_null(int64_t at_ms)
{
    return at_ms ? json_integer(at_ms) : json_null();
}

static json_t *text_or_null(const char *text)
{
    return *text ? proto_text(text) : json_null();
}

json_t *service_to_json(const struct service *service)
{
    bool ended = service->ended_at_ms != 0;
    return json_pack(
        "{s:s, s:o, s:o, s:o, s:s, s:s, s:o, s:s?, s:I, s:o, s:o, s:o, s:o, s:o}", "name",
        service->name, "command", proto_text(service->command), "user", text_or_null(service->user),
        "cwd", text_or_null(service->cwd), "restart", restart_words[service->restart], "state",
        state_words[service->state], "pid",
        service->process ? json_integer(service->process->pid) : json_null(), "health",
        health_word(service), "restarts", (json_int_t)service->restarts, "exit_code",
        ended && service->exit_code >= 0 ? json_integer(service->exit_code) : json_null(), "reason",
        text_or_null(service->reason), "started_at_ms", time_or_null(service->started_at_ms),
        "ended_at_ms", time_or_null(service->ended_at_ms), "next_start_at_ms",
        time_or_null(service->next_start_at_ms));
}
