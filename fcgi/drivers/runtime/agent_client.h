/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The control plane's calls to the agent in a sandbox, over HTTP: on the host's own link to it, or
 * through the host's relay. The owner of a sandbox can put any program in the agent's place. So
 * each call takes the deadline of its request or job, and returns by then. This holds also if the
 * agent is silent, answers byte by byte, or never ends its headers.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/deadline.h"
#include "base/instance.h"
#include "crypto/mac.h"
#include "http/link.h"

#define AGENT_SECRET_SIZE   MAC_HEX_SIZE
#define AGENT_WAIT_MS       2000  /* for one answer, where a worker may wait */
#define AGENT_START_WAIT_MS 15000 /* for one that the init of an instance starts */

/* The place of an agent. */
struct agent_place {
    const struct http_link *link; /* to its host; NULL: direct */
    uint32_t address;             /* of its instance, in host byte order */
    /* Called about once a second while an answer is awaited; an error ends the wait. NULL: none. */
    int (*tick)(void *context, struct error **err);
    void *tick_context;
};

/* Calculate the secret that the agent of this instance expects, from a key of the ring and the
 * instance's name. It is not stored. The caller wipes it. Errors: ERR_CONFIG (the ring has no such
 * key). */
int agent_secret(const struct keyring *ring, const char *instance_name, uint16_t key_id,
                 char secret[AGENT_SECRET_SIZE], struct error **err);

/* The facts about its sandbox for an agent. */
struct agent_init {
    const char *sandbox_id, *route;
    const char *template; /* its slug, or the id of the checkpoint that the sandbox came from */
    const char *secret;
    /* The secret that an agent from another instance's memory still has. agent_init() replaces it
     * with the new secret. NULL: another agent. */
    const char *former;
    const char *envs;     /* JSON object text; "": none */
    const char *services; /* JSON list text; NULL: it keeps its own */
    /* The certificate (PEM) of the authority of egress rules, which programs in it trust; NULL: it
     * keeps its own. */
    const char *authority;
    uint32_t log_kib; /* of the output of processes that it may keep */
    /* An agent that is new starts the services after agent_services_release(), or this time. 0: at
     * once. */
    unsigned hold_services_s;
};

/* Initialise the agent. Repeats until the agent answers or the deadline has passed. Errors:
 * ERR_RUNTIME_UNAVAILABLE (no answer), ERR_RUNTIME_FAILED (the agent has another secret, or it is
 * not an agent). */
int agent_init(const struct agent_place *at, const struct agent_init *init, struct deadline until,
               struct error **err);

/* Check whether the agent has this secret; a restarted agent has none. Repeats until the agent
 * answers or the deadline has passed. Errors: ERR_RUNTIME_UNAVAILABLE (no answer). */
int agent_knows(const struct agent_place *at, const char *secret, struct deadline until,
                bool *knows, struct error **err);

/* End the open requests of clients before a pause, and let the agent refuse new ones until the next
 * agent_init() or for some seconds. One attempt. Errors as agent_init(). */
int agent_hang_up(const struct agent_place *at, const char *secret, struct deadline until,
                  struct error **err);

/* Read the output of processes, or of one service (NULL: all), by GET /internal/logs with this
 * query. *logs is a new reference, and unchecked: the owner of a sandbox can replace the agent. One
 * attempt. Errors as agent_init(), ERR_NOT_SERVED (the agent is too old), and ERR_NOT_FOUND (it has
 * no such service). */
int agent_logs(const struct agent_place *at, const char *secret, const char *service,
               const char *query, struct deadline until, json_t **logs, struct error **err);

/* List the services: *services, a new reference, is a list and otherwise unchecked. One attempt.
 * Errors as agent_init(), and ERR_NOT_SERVED: the agent is too old. */
int agent_services(const struct agent_place *at, const char *secret, struct deadline until,
                   json_t **services, struct error **err);

/* Start the services that wait (hold_services_s). One attempt. Errors as agent_init(). */
int agent_services_release(const struct agent_place *at, const char *secret, struct deadline until,
                           struct error **err);

/* Start a service again. One attempt. Errors as agent_init(), and ERR_NOT_FOUND. */
int agent_service_restart(const struct agent_place *at, const char *secret, const char *service,
                          struct deadline until, struct error **err);

/* Run a command: a body of POST /exec, with its own time limit. *answer is a new reference to an
 * object, whose members are unchecked: the owner of a sandbox can replace the agent. One attempt.
 * Errors as agent_init(), and with the agent's message: ERR_INVALID_REQUEST (it refused the call),
 * ERR_NO_SUCH_USER (the sandbox does not have the user of the command), ERR_PROGRAM_IS_WRITTEN
 * (another program writes the file of the command now), ERR_RUNTIME_UNAVAILABLE (it cannot start
 * the command now). */
int agent_exec(const struct agent_place *at, const char *secret, const json_t *call,
               struct deadline until, json_t **answer, struct error **err);

/* Run a hook under a key. The agent starts it at the first call with the key; further calls with
 * the key wait for the same run. call: a body of POST /exec. Waits at most wait_ms for its end, and
 * AGENT_WAIT_MS for the answer. *exit_code: -1 if a signal or its time limit ended it. Errors as
 * agent_exec(), ERR_HOOK_RUNS (it has not ended), and ERR_NOT_SERVED (the agent is too old). */
int agent_hook(const struct agent_place *at, const char *secret, const char *key,
               const json_t *call, unsigned wait_ms, int *exit_code, struct error **err);

/* Read the number of processors that programs in the sandbox see. One attempt. Errors as
 * agent_init(). */
int agent_cpus(const struct agent_place *at, const char *secret, struct deadline until,
               unsigned *cpus, struct error **err);

/* Run a line of the shell as the agent's user, and wait for its end. Its output must be short: with
 * it, the answer has at most 4 KiB. One attempt. Errors as agent_init(), which include a longer
 * answer (ERR_RUNTIME_UNAVAILABLE). */
int agent_run(const struct agent_place *at, const char *secret, const char *line,
              struct deadline until, int *exit_code, struct error **err);

/* Wait for an answer of the agent of a new instance, which no sandbox has yet. Twice a second, call
 * tick(), which may be NULL. Errors: ERR_RUNTIME_UNAVAILABLE (no answer), ERR_RUNTIME_FAILED (it is
 * not an agent), and those of tick(). */
int agent_wait(const struct agent_place *at, struct deadline until,
               int (*tick)(void *context, struct error **err), void *tick_context,
               struct error **err);

/* Wait while connections to the agent fail at once: its init ends the sandbox or starts it again.
 * Returns at the first answer, also a broken one, and at the deadline. Returns also when the agent
 * is silent, if no connection has failed before. */
void agent_wait_while_refused(const struct agent_place *at, struct deadline until);

enum agent_listener { AGENT_LISTENER_NONE, AGENT_LISTENER_LOOPBACK, AGENT_LISTENER_ANY };

/* Find the process that listens on a port inside the sandbox. One attempt. Errors: ERR_AGENT_SILENT
 * (connected or not, no answer came in that time), ERR_RUNTIME_UNAVAILABLE (cannot connect),
 * ERR_RUNTIME_FAILED (an unexpected answer). */
int agent_port_listener(const struct agent_place *at, const char *secret, uint16_t port,
                        struct deadline until, enum agent_listener *listener, struct error **err);
