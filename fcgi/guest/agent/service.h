/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A service: a command that the agent starts, and starts again by its policy. The first restart
 * waits SERVICE_BACKOFF_MS. Each further one waits twice as long, up to SERVICE_BACKOFF_MOST_MS. A
 * service that ran for that long begins with the shortest wait again. The command runs in the
 * foreground: the service ends with it.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "agent/process/process.h"
#include "agent/process/process_log.h"
#include "base/loop.h"

#define SERVICE_BACKOFF_MS      1000
#define SERVICE_BACKOFF_MOST_MS 60000
#define SERVICE_STOP_MS         10000 /* from the stop signal to SIGKILL */
#define SERVICE_MISSES          3     /* failed health commands in a row: it is unhealthy */
#define SERVICE_LOG_MAX         ((size_t)64 * 1024)
/* The start command of a template is a service of this name. */
#define SERVICE_OF_TEMPLATE "start_command"

struct agent;

enum service_restart { SERVICE_RESTART_NO, SERVICE_RESTART_ON_FAILURE, SERVICE_RESTART_ALWAYS };

enum service_state {
    SERVICE_RUNNING,
    SERVICE_STOPPING, /* has its stop signal, and starts again after its end */
    SERVICE_WAITING,  /* for its next start */
    SERVICE_ENDED,
    SERVICE_FAILED,
};

/* Its health command, while the service runs. */
struct service_health {
    const char *command; /* of the specification; NULL: none */
    int64_t interval_ms, timeout_ms;
    struct process *process; /* NULL: not running */
    struct process_follower follower;
    struct loop_timer next;
    unsigned misses;
    bool known;
};

struct service {
    struct agent *agent;
    json_t *spec; /* all texts below belong to it */
    const char *name, *command, *user /* "": the default */, *cwd /* "": the usual */;
    enum service_restart restart;
    int stop_signal;
    enum service_state state;
    struct process *process; /* NULL: not running */
    struct process_follower follower;
    struct process_log log;
    struct loop_timer timer; /* the next start, or SIGKILL */
    struct service_health health;
    unsigned doublings, restarts;
    bool by_login;  /* the command is for the login shell of the user, and not for /bin/sh */
    bool held;      /* its first start waits for a hook */
    bool by_hand;   /* its end is ordered: start again at once */
    bool unhealthy; /* its end is ordered, and is a failure */
    int64_t started_at_ms, ended_at_ms, next_start_at_ms; /* since 1970; 0: none */
    int64_t began_ms;                                     /* monotonic */
    int exit_code;                                        /* of the last end; -1: a signal */
    char reason[PROCESS_MESSAGE_SIZE];                    /* of the last end in words, or "" */
};

/* Make a service of a specification: an object of JSON with "name", "command" and, each optional,
 * "user", "cwd", "envs", "restart", "stop_signal", "health" and "login". NULL, with an error, for
 * any other value. */
struct service *service_new(struct agent *agent, json_t *spec, struct rpc_error *error);

/* Kill its processes, and free it. */
void service_free(struct service *service);

/* Start a service that does not run. */
void service_start(struct service *service);

/* Stop the service if it runs, and start it: now, without a back-off. */
void service_restart(struct service *service);

/* Describe it for GET /internal/services. The environment, which may hold secrets, is left out. */
json_t *service_to_json(const struct service *service);
