/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sandlot-agent: the data plane inside one sandbox. One thread, one event loop: an HTTP server for
 * files and processes, and a relay to the sandbox's own servers on 127.0.0.1. It runs as root, and
 * has no state on disk. A pause with memory keeps it. A start from disk makes a clean one, which
 * waits for POST /init.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "agent/activity.h"
#include "agent/common/environment.h"
#include "base/clock.h"
#include "base/guest_limits.h"
#include "base/loop.h"
#include "httpd/secret.h"

#define AGENT_BODY_MAX        GUEST_REQUEST_BYTES_MAX /* a JSON body */
#define AGENT_CONNECTIONS_MAX 2048

struct process_table;
struct request;
struct route_table;
struct server;
struct stream;
struct relay;
struct watch_hub;

struct agent {
    struct loop loop;
    struct shared_secret secret;
    struct environment environment; /* the state from POST /init */
    char *default_user;
    char *workdir; /* where processes begin when a call does not say; NULL: at home */
    struct process_table *processes;
    const struct route_table *routes;
    LIST_HEAD(, stream) streams;   /* open responses of server-streaming calls */
    LIST_HEAD(, request) to_nudge; /* request_nudge() */
    struct server *server;
    struct relay *relay;
    struct watch_hub *watch_hub; /* NULL without watchers */
    struct activity activity;
    int64_t hung_up_until_ms; /* monotonic; before it only the control plane is answered */
    /* POST /init and /internal/ come from outside the sandbox; from inside only in tests. */
    bool trust_local_peers;
    bool machine; /* the sandbox is a virtual machine */
};

/* Return whether the sandbox is about to be paused. */
static inline bool agent_is_hung_up(const struct agent *agent)
{
    return agent->hung_up_until_ms && clock_monotonic_ms() < agent->hung_up_until_ms;
}
