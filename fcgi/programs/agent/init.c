/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "agent/agent.h"
#include "agent/common/proto.h"
#include "agent/common/users.h"
#include "agent/framework/server.h"
#include "agent/framework/stream.h"
#include "agent/guard.h"
#include "agent/handlers.h"
#include "base/clock.h"
#include "base/instance.h"
#include "base/log.h"
#include "base/mem.h"

#define SANDBOX_ID_MAX 128

/* From a hang-up to the moment that the runtime freezes the sandbox, with time to spare. */
#define HUNG_UP_MS 5000

/* A checked body. */
struct init {
    const char *secret, *sandbox_id, *default_user;
    struct environment environment;
};

int health_finish(struct request *request, struct fault *fault)
{
    (void)fault;
    return httpd_reply_empty(&request->http, 204);
}

int hang_up_finish(struct request *request, struct fault *fault)
{
    (void)fault;
    struct agent *agent = request->agent;
    agent->hung_up_until_ms = clock_monotonic_ms() + HUNG_UP_MS;
    stream_abort_all(agent);
    server_hang_up(agent->server, request);
    return httpd_reply_empty(&request->http, 204);
}

int init_begin(struct request *request, struct fault *fault)
{
    const struct shared_secret *secret = &request->agent->secret;
    request->outsider =
        secret->known && !httpd_shows_secret(&request->http, AGENT_SECRET_HEADER, secret);
    return request->outsider
               ? fault_set(fault, FAULT_UNAUTHENTICATED, "missing or wrong agent secret")
               : 0;
}

static void free_wiped(void *memory)
{
    if (memory)
        mem_wipe(memory, malloc_usable_size(memory));
    free(memory);
}

/* The parser copies what it reads; while it handles secrets, all it frees is overwritten. */
static json_t *parse(const struct buffer *body)
{
    json_error_t where;
    json_set_alloc_funcs(malloc, free_wiped);
    return json_loadb(buffer_string(body), body->size, 0, &where);
}

static void parse_done(json_t *message)
{
    json_decref(message);
    json_set_alloc_funcs(malloc, free);
}

static int check_secret(const struct shared_secret *known, const char *secret, struct fault *fault)
{
    struct shared_secret probe = {.known = false};
    int rc = 0;
    if (shared_secret_set(&probe, secret, strlen(secret)) < 0)
        rc = fault_set(fault, FAULT_INVALID_ARGUMENT, "secret must be %d hexadecimal digits",
                       SHARED_SECRET_HEX);
    else if (known->known && !shared_secret_matches(known, secret, strlen(secret)))
        rc = fault_set(fault, FAULT_INVALID_ARGUMENT,
                       "the agent has another secret, which cannot be changed");
    mem_wipe(&probe, sizeof probe);
    return rc;
}

static int read_body(const struct shared_secret *known, const json_t *message, struct init *init,
                     struct fault *fault)
{
    const json_t *envs;
    if (!json_is_object(message))
        return fault_set(fault, FAULT_INVALID_ARGUMENT, "the body must be a JSON object");
    if (proto_string(message, "secret", &init->secret, fault) < 0 ||
        proto_string(message, "sandbox_id", &init->sandbox_id, fault) < 0 ||
        proto_string(message, "default_user", &init->default_user, fault) < 0 ||
        proto_object(message, "envs", &envs, fault) < 0 ||
        check_secret(known, init->secret, fault) < 0)
        return -1;
    if (strlen(init->sandbox_id) > SANDBOX_ID_MAX || strlen(init->default_user) > USER_NAME_MAX)
        return fault_set(fault, FAULT_INVALID_ARGUMENT, "sandbox_id or default_user is too long");
    if (*init->sandbox_id &&
        environment_set(&init->environment, "SANDLOT_SANDBOX_ID", init->sandbox_id, fault) < 0)
        return -1;
    return environment_set_json(&init->environment, envs, fault);
}

static void adopt(struct agent *agent, struct init *init)
{
    bool first = !agent->secret.known;
    agent->hung_up_until_ms = 0;
    shared_secret_set(&agent->secret, init->secret, strlen(init->secret));
    environment_wipe(&agent->environment);
    agent->environment = init->environment;
    init->environment = (struct environment){NULL, 0, 0};
    if (*init->default_user) {
        free(agent->default_user);
        agent->default_user = xstrdup(init->default_user);
    }
    guard_keep(agent);
    log_info(first ? "initialised" : "initialised again", LOG_STR("sandbox", init->sandbox_id),
             LOG_INT("envs", agent->environment.count));
}

int init_finish(struct request *request, struct fault *fault)
{
    struct init init = {.secret = ""};
    json_t *message = parse(&request->body);
    int rc = read_body(&request->agent->secret, message, &init, fault);
    if (rc == 0)
        adopt(request->agent, &init);
    environment_wipe(&init.environment);
    parse_done(message);
    buffer_wipe(&request->body);
    return rc == 0 ? httpd_reply_empty(&request->http, 204) : -1;
}
