/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdlib.h>
#include <string.h>

#include "agent/agent.h"
#include "agent/authority.h"
#include "agent/boot_files.h"
#include "agent/common/proto.h"
#include "agent/common/users.h"
#include "agent/defaults.h"
#include "agent/framework/server.h"
#include "agent/framework/stream.h"
#include "agent/guard.h"
#include "agent/handlers.h"
#include "agent/identity.h"
#include "agent/process/process.h"
#include "agent/ready.h"
#include "agent/services.h"
#include "base/clock.h"
#include "base/instance.h"
#include "base/log.h"
#include "base/mem.h"

#define SANDBOX_ID_MAX 128

/* From a hang-up to the moment that the runtime freezes the sandbox, with time to spare. */
#define HUNG_UP_MS 5000

/* A checked body. */
struct init {
    const char *secret, *sandbox_id, *default_user, *route, *template, *authority;
    int64_t log_kib;
    bool succeeds; /* the agent's memory is of another sandbox, whose secret it shall forget */
    struct environment environment;
    const json_t *services; /* of a create; NULL: nothing new */
    int64_t hold_services_s;
};

int health_finish(struct request *request, struct rpc_error *error)
{
    (void)error;
    return httpd_reply_empty(&request->http, 204);
}

int hang_up_finish(struct request *request, struct rpc_error *error)
{
    (void)error;
    struct agent *agent = request->agent;
    agent->hung_up_until_ms = clock_monotonic_ms() + HUNG_UP_MS;
    stream_abort_all(agent);
    server_hang_up(agent->server, request);
    return httpd_reply_empty(&request->http, 204);
}

int init_begin(struct request *request, struct rpc_error *error)
{
    const struct shared_secret *secret = &request->agent->secret;
    request->outsider =
        secret->known && !httpd_shows_secret(&request->http, AGENT_SECRET_HEADER, secret);
    return request->outsider
               ? rpc_error_set(error, RPC_UNAUTHENTICATED, "missing or wrong agent secret")
               : 0;
}

/* The parser copies its input; while it handles secrets, all memory that it frees is
 * overwritten. */
static json_t *parse(const struct buffer *body)
{
    json_error_t where;
    json_set_alloc_funcs(malloc, mem_free_wiped);
    return json_loadb(buffer_string(body), body->size, 0, &where);
}

static void parse_done(json_t *message)
{
    json_decref(message);
    json_set_alloc_funcs(malloc, free);
}

static int check_secret(const struct shared_secret *known, const struct init *init,
                        struct rpc_error *error)
{
    const char *secret = init->secret;
    struct shared_secret probe = {.known = false};
    int rc = 0;
    if (shared_secret_set(&probe, secret, strlen(secret)) < 0)
        rc = rpc_error_set(error, RPC_INVALID_ARGUMENT, "secret must be %d hexadecimal digits",
                           SHARED_SECRET_HEX);
    else if (known->known && !init->succeeds &&
             !shared_secret_matches(known, secret, strlen(secret)))
        rc = rpc_error_set(error, RPC_INVALID_ARGUMENT,
                           "the agent has another secret already, which cannot change");
    mem_wipe(&probe, sizeof probe);
    return rc;
}

static int set_known(struct init *init, const char *name, const char *value,
                     struct rpc_error *error)
{
    return *value ? environment_set(&init->environment, name, value, error) : 0;
}

static int read_body(const struct shared_secret *known, const json_t *message, struct init *init,
                     struct rpc_error *error)
{
    const json_t *envs;
    if (!json_is_object(message))
        return rpc_error_set(error, RPC_INVALID_ARGUMENT, "the body must be a JSON object");
    if (proto_string(message, "secret", &init->secret, error) < 0 ||
        proto_string(message, "sandbox_id", &init->sandbox_id, error) < 0 ||
        proto_string(message, "default_user", &init->default_user, error) < 0 ||
        proto_string(message, "route", &init->route, error) < 0 ||
        proto_string(message, "template", &init->template, error) < 0 ||
        proto_string(message, "authority", &init->authority, error) < 0 ||
        (proto_field(message, "logKib") &&
         proto_integer(message, "logKib", 0, PROCESS_LOG_MAX / 1024, &init->log_kib, error) < 0) ||
        proto_object(message, "envs", &envs, error) < 0 ||
        proto_array(message, "services", &init->services, error) < 0 ||
        proto_integer(message, "holdServices", 0, SERVICES_HOLD_MAX_S, &init->hold_services_s,
                      error) < 0 ||
        proto_bool(message, "succeeds", false, &init->succeeds, error) < 0 ||
        check_secret(known, init, error) < 0)
        return -1;
    if (strlen(init->sandbox_id) > SANDBOX_ID_MAX || strlen(init->default_user) > USER_NAME_MAX ||
        strlen(init->route) > SANDBOX_ID_MAX || strlen(init->template) > SANDBOX_ID_MAX)
        return rpc_error_set(error, RPC_INVALID_ARGUMENT,
                             "sandbox_id, route, template or default_user is too long");
    if (set_known(init, "SANDLOT_SANDBOX_ID", init->sandbox_id, error) < 0 ||
        set_known(init, "E2B_SANDBOX_ID", init->route, error) < 0 ||
        set_known(init, "E2B_TEMPLATE_ID", init->template, error) < 0)
        return -1;
    if (*init->authority && authority_set_environment(&init->environment, error) < 0)
        return -1;
    return environment_set_json(&init->environment, envs, error);
}

/* The template's are behind those that came with the sandbox. */
static void take_defaults(struct agent *agent, const struct init *init, struct defaults *defaults)
{
    struct rpc_error error;
    if (environment_merge(&defaults->environment, &agent->environment, &error) == 0) {
        struct environment merged = defaults->environment;
        defaults->environment = agent->environment;
        agent->environment = merged;
    }
    const char *user = defaults->user ? defaults->user : init->default_user;
    if (*user) {
        free(agent->default_user);
        agent->default_user = xstrdup(user);
    }
    free(agent->workdir);
    agent->workdir = steal_pointer(&defaults->workdir);
}

static void clear_logs(struct agent *agent)
{
    process_log_clear(&agent->processes->log);
    services_clear_logs();
}

static void adopt(struct agent *agent, struct init *init)
{
    bool first = !agent->secret.known;
    /* This memory came from another sandbox: the logs in it belong to that one. */
    if (!first && !shared_secret_matches(&agent->secret, init->secret, strlen(init->secret)))
        clear_logs(agent);
    bool inside = !agent->trust_local_peers && *init->route;
    if (first && inside && identity_is_recorded(init->route) && boot_is_fresh())
        boot_clean();
    defaults_auto defaults;
    defaults_read(&defaults);
    agent->hung_up_until_ms = 0;
    shared_secret_set(&agent->secret, init->secret, strlen(init->secret));
    environment_wipe(&agent->environment);
    agent->environment = init->environment;
    init->environment = (struct environment){NULL, 0, 0};
    take_defaults(agent, init, &defaults);
    process_log_set_max(&agent->processes->log, (size_t)init->log_kib * 1024);
    guard_keep(agent);
    if (inside) {
        identity_adopt(init->route, init->template);
        authority_adopt(init->authority);
    }
    log_info(first ? "agent initialised" : "agent initialised again",
             LOG_STR("sandbox", init->sandbox_id), LOG_INT("envs", agent->environment.count));
    if (first) {
        services_begin(agent, &defaults, init->services, false, init->hold_services_s * 1000);
        bool starts = defaults.start_command || json_array_size(defaults.services);
        if (starts && defaults.ready_command && !init->hold_services_s)
            ready_begin(agent, defaults.ready_command);
    } else {
        services_take(agent, &defaults, init->services);
    }
    services_set_log_max((size_t)init->log_kib * 1024);
}

int init_finish(struct request *request, struct rpc_error *error)
{
    struct init init = {.secret = "", .log_kib = PROCESS_LOG_DEFAULT / 1024};
    json_t *message = parse(&request->body);
    int rc = read_body(&request->agent->secret, message, &init, error);
    if (rc == 0)
        adopt(request->agent, &init);
    environment_wipe(&init.environment);
    parse_done(message);
    buffer_wipe(&request->body);
    if (rc < 0)
        return -1;
    return ready_await(request) ? 0 : httpd_reply_empty(&request->http, 204);
}

void init_closed(struct request *request)
{
    ready_closed(request);
}
