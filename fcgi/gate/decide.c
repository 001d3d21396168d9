/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "gate/decide.h"

#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "sandbox/host.h"
#include "session/session.h"

static const struct {
    const char *name;
    int data_status, preview_status;
    const char *code;
    const char *sentence;
} reasons[GATE_REASON_COUNT] = {
#define X(symbol, reason, data_status, preview_status, code, sentence) \
    [symbol] = {reason, data_status, preview_status, code, sentence},
#include "gate/reasons.def"
#undef X
};

const char *gate_reason_name(enum gate_reason reason)
{
    return reasons[reason].name;
}

int gate_reason_parse(const char *name, enum gate_reason *reason)
{
    for (unsigned i = 0; i < GATE_REASON_COUNT; i++) {
        if (str_equal(reasons[i].name, name)) {
            *reason = (enum gate_reason)i;
            return 0;
        }
    }
    return -1;
}

int gate_reason_status(enum gate_reason reason, bool is_preview)
{
    return is_preview ? reasons[reason].preview_status : reasons[reason].data_status;
}

const char *gate_reason_code(enum gate_reason reason)
{
    return reasons[reason].code;
}

const char *gate_reason_sentence(enum gate_reason reason)
{
    return reasons[reason].sentence;
}

static int refuse(struct gate_decision *decision, enum gate_reason reason)
{
    decision->outcome = GATE_REFUSE;
    decision->reason = reason;
    return -1;
}

/* The refusal that an error of the concepts below amounts to. */
static int refuse_error(struct gate_decision *decision, const struct error *err)
{
    switch (err->code) {
    case ERR_NOT_FOUND:
        return refuse(decision, GATE_NO_SANDBOX);
    case ERR_SANDBOX_QUOTA_EXCEEDED:
        return refuse(decision, GATE_QUOTA);
    case ERR_SANDBOX_BUSY:
    case ERR_SANDBOX_NOT_RUNNING:
        return refuse(decision, GATE_BUSY);
    default:
        log_warning("gate cannot reach a sandbox", LOG_ERROR(err));
        return refuse(decision, GATE_UNAVAILABLE);
    }
}

/* --- may it? (each returns 0, or -1 with a refusal in decision) --- */

static bool is_health_check(const struct gate_request *request)
{
    return !request->preview_port && str_equal(request->path, "/health") &&
           (str_equal(request->method, "GET") || str_equal(request->method, "HEAD"));
}

static int find_sandbox(struct sandbox_service *service, const struct gate_request *request,
                        struct sandbox *sandbox, struct gate_decision *decision)
{
    error_auto err = NULL;
    if (!route_token_is_valid(request->route))
        return refuse(decision, GATE_NO_SANDBOX);
    if (sandbox_get_by_route(service->db, request->route, sandbox, &err) < 0)
        return refuse_error(decision, err);
    return 0;
}

/* The token comes first: without a good one nothing about the sandbox is looked up or told. */
static int authorize_data_plane(struct sandbox_service *service, const struct gate_request *request,
                                struct sandbox *sandbox, struct gate_decision *decision)
{
    char token_sandbox[ID_SIZE];
    error_auto err = NULL;
    if (str_equal(request->path, "/init") || str_starts_with(request->path, "/internal/"))
        return refuse(decision, GATE_INTERNAL_PATH);
    if (is_health_check(request)) {
        if (find_sandbox(service, request, sandbox, decision) == 0 &&
            sandbox->state == SANDBOX_READY)
            return 0;
        return refuse(decision, GATE_GONE);
    }
    if (session_open(service->ring, request->token, token_sandbox, &err) < 0)
        return refuse(decision, GATE_UNAUTHORIZED);
    if (find_sandbox(service, request, sandbox, decision) < 0)
        return -1;
    return strcmp(sandbox->id, token_sandbox) ? refuse(decision, GATE_UNAUTHORIZED) : 0;
}

static int authorize_preview(struct sandbox_service *service, const struct gate_request *request,
                             struct sandbox *sandbox, struct gate_decision *decision)
{
    char token_sandbox[ID_SIZE];
    error_auto err = NULL;
    if (find_sandbox(service, request, sandbox, decision) < 0)
        return -1;
    const struct exposed_port *port = sandbox_port(sandbox, request->preview_port);
    if (!port)
        return refuse(decision, GATE_PORT_NOT_EXPOSED);
    if (port->is_public && sandbox->allow_public_traffic)
        return 0;
    if (session_open(service->ring, request->token, token_sandbox, &err) < 0 ||
        strcmp(sandbox->id, token_sandbox))
        return refuse(decision, GATE_PRIVATE_PORT);
    return 0;
}

/* --- does it run? --- */

static int wake(struct sandbox_service *service, const struct gate_request *request,
                struct sandbox *sandbox, struct gate_decision *decision)
{
    if (!request->may_wait) {
        decision->outcome = GATE_WAKE;
        return -1;
    }
    error_auto err = NULL;
    sandbox_auto woken = {0};
    if (sandbox_wake(service, sandbox->id, &woken, &err) < 0)
        return refuse_error(decision, err);
    sandbox_deinit(sandbox);
    *sandbox = woken;
    woken = (struct sandbox){0};
    return 0;
}

static int ensure_running(struct sandbox_service *service, const struct gate_request *request,
                          struct sandbox *sandbox, struct gate_decision *decision)
{
    switch (sandbox->state) {
    case SANDBOX_READY:
    case SANDBOX_CHECKPOINTING:
        return 0;
    case SANDBOX_CREATING:
    case SANDBOX_RESTORING:
        return wake(service, request, sandbox, decision);
    default:
        if (sandbox->auto_resume)
            return wake(service, request, sandbox, decision);
        return refuse(decision, GATE_PAUSED);
    }
}

/* --- where to? --- */

static int route_data_plane(struct sandbox_service *service, const struct sandbox *sandbox,
                            struct gate_decision *decision)
{
    char address[IPV4_TEXT_SIZE];
    error_auto err = NULL;
    if (agent_secret(service->ring, sandbox, decision->secret, &err) < 0)
        return refuse_error(decision, err);
    snprintf(decision->upstream, sizeof decision->upstream, "%s:%d",
             ipv4_format(sandbox->address, address), AGENT_PORT);
    return 0;
}

/* A server that listens on the loopback interface only is reached through the agent's relay, which
 * wants to see the secret and keeps it; the server itself never gets it. */
static int route_preview(struct sandbox_service *service, const struct sandbox *sandbox,
                         uint16_t port, struct gate_decision *decision)
{
    char address[IPV4_TEXT_SIZE];
    enum agent_listener listener;
    error_auto err = NULL;
    if (agent_secret(service->ring, sandbox, decision->secret, &err) < 0)
        return refuse_error(decision, err);
    int result = agent_port_listener(sandbox, decision->secret, port, &listener, &err);
    bool is_relayed = result == 0 && listener == AGENT_LISTENER_LOOPBACK;
    if (!is_relayed)
        mem_wipe(decision->secret, sizeof decision->secret);
    if (result < 0)
        return refuse_error(decision, err);
    if (listener == AGENT_LISTENER_NONE)
        return refuse(decision, GATE_NO_LISTENER);
    decision->relay_port = is_relayed ? port : 0;
    snprintf(decision->upstream, sizeof decision->upstream, "%s:%d",
             ipv4_format(sandbox->address, address), is_relayed ? AGENT_RELAY_PORT : port);
    return 0;
}

void gate_decide(struct sandbox_service *service, const struct gate_request *request,
                 struct gate_decision *decision)
{
    sandbox_auto sandbox = {0};
    *decision = (struct gate_decision){.outcome = GATE_PASS};
    int (*authorize)(struct sandbox_service *, const struct gate_request *, struct sandbox *,
                     struct gate_decision *) =
        request->preview_port ? authorize_preview : authorize_data_plane;
    if (authorize(service, request, &sandbox, decision) < 0 ||
        ensure_running(service, request, &sandbox, decision) < 0)
        return;
    if (request->preview_port)
        route_preview(service, &sandbox, request->preview_port, decision);
    else
        route_data_plane(service, &sandbox, decision);
}

bool gate_token_fits(struct sandbox_service *service, const struct gate_request *request,
                     const char *token)
{
    char token_sandbox[ID_SIZE];
    sandbox_auto sandbox = {0};
    struct gate_decision decision;
    error_auto err = NULL;
    return session_open(service->ring, token, token_sandbox, &err) == 0 &&
           find_sandbox(service, request, &sandbox, &decision) == 0 &&
           str_equal(sandbox.id, token_sandbox);
}
