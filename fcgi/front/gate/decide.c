/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "gate/decide.h"

#include <stdio.h>
#include <string.h>

#include "archive/archive.h"
#include "audit/audit.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "gate/gate_db.h"
#include "gate/signature.h"
#include "moving/moving.h"
#include "sandbox/request_host.h"
#include "session/session.h"

/* A resume that takes longer has an agent that does not answer. */
#define LONG_WAKE_MS 10000
#define SAY_EVERY_MS 1000
/* A quicker decision needs no second look at the row. The end of all connections waits for the
 * second in which nginx keeps a pass, and for this time (KEPT_ANSWER_MS of
 * sandbox/sandbox_network.c). */
#define SAME_ROW_MS 100

static int refuse(struct gate_decision *decision, enum refusal_reason reason)
{
    decision->outcome = GATE_REFUSE;
    decision->reason = reason;
    return -1;
}

/* The owner of a sandbox can replace its agent, and so make an error with each request. */
static void say(const struct error *failure)
{
    static int64_t next_ms;
    static unsigned unlogged;
    int64_t now_ms = clock_monotonic_ms();
    if (now_ms < next_ms) {
        unlogged++;
        return;
    }
    log_warning("cannot decide about a request to a sandbox; refusing it", LOG_ERROR(failure),
                LOG_INT("unlogged", unlogged));
    next_ms = now_ms + SAY_EVERY_MS;
    unlogged = 0;
}

/* Refuse with the reason that fits an error. */
static int refuse_error(struct gate_decision *decision, const struct error *err)
{
    switch (err->code) {
    case ERR_NOT_FOUND:
        return refuse(decision, REFUSAL_NO_SANDBOX);
    case ERR_SANDBOX_QUOTA_EXCEEDED:
        return refuse(decision, REFUSAL_QUOTA);
    case ERR_NO_CAPACITY:
        return refuse(decision, REFUSAL_NO_CAPACITY);
    case ERR_SANDBOX_BUSY:
    case ERR_SANDBOX_NOT_RUNNING:
    case ERR_SHARE_USED_UP: /* it has waited for its turn to start */
        return refuse(decision, REFUSAL_BUSY);
    case ERR_HOST_UNREACHABLE:
        return refuse(decision, REFUSAL_HOST_UNREACHABLE);
    case ERR_HOST_LOST:
        return refuse(decision, REFUSAL_HOST_LOST);
    default:
        say(err);
        return refuse(decision, REFUSAL_UNAVAILABLE);
    }
}

/* --- authorization (each function returns 0, or -1 with a refusal in decision) --- */

static bool is_health_check(const struct gate_request *request)
{
    return !request->preview_port && str_equal(request->path, "/health") &&
           (str_equal(request->method, "GET") || str_equal(request->method, "HEAD"));
}

static int find_sandbox(struct worker *worker, const struct gate_request *request,
                        struct gate_sandbox *found, struct gate_decision *decision)
{
    error_auto err = NULL;
    if (!route_token_is_valid(request->route))
        return refuse(decision, REFUSAL_NO_SANDBOX);
    if (gate_sandbox_get(worker->db, request->route, request->preview_port, found, &err) < 0)
        return refuse_error(decision, err);
    return 0;
}

/* Return whether a token is genuine and opens the requested part of its sandbox. */
static bool is_genuine(struct worker *worker, const struct gate_request *request, const char *token,
                       struct session_claim *claim)
{
    error_auto err = NULL;
    return session_open(worker->ring, token, claim, &err) == 0 &&
           session_opens(claim, request->preview_port);
}

static bool token_fits(struct worker *worker, const struct gate_request *request, const char *token,
                       const struct gate_sandbox *found)
{
    struct session_claim claim;
    return is_genuine(worker, request, token, &claim) &&
           session_fits(&claim, found->sandbox.id, found->sandbox.session_epoch);
}

static bool is_link(const struct gate_request *request)
{
    return !request->preview_port && !request->token &&
           signature_is_present(request->path, request->query);
}

/* Check a signed link. Without a good signature the answer does not show whether the sandbox
 * exists. */
static int authorize_link(struct worker *worker, const struct gate_request *request,
                          struct gate_sandbox *found, struct gate_decision *decision)
{
    if (find_sandbox(worker, request, found, decision) < 0)
        return refuse(decision, decision->reason == REFUSAL_NO_SANDBOX ? REFUSAL_BAD_SIGNATURE
                                                                       : decision->reason);
    const struct signature_of of = {found->sandbox.id, found->sandbox.session_epoch,
                                    worker->settings->session_ttl_s};
    switch (signature_check(worker->ring, &of, request->method, request->query)) {
    case SIGNATURE_GOOD:
        return 0;
    case SIGNATURE_EXPIRED:
        return refuse(decision, REFUSAL_OLD_SIGNATURE);
    default:
        return refuse(decision, REFUSAL_BAD_SIGNATURE);
    }
}

/* Check the token first: without a good one the gate reads nothing about the sandbox and shows
 * nothing about it. */
static int authorize_data_plane(struct worker *worker, const struct gate_request *request,
                                struct gate_sandbox *found, struct gate_decision *decision)
{
    struct session_claim claim;
    if (str_equal(request->path, "/init") || str_starts_with(request->path, "/internal/"))
        return refuse(decision, REFUSAL_INTERNAL_PATH);
    if (is_health_check(request)) {
        if (find_sandbox(worker, request, found, decision) == 0 &&
            sandbox_state_runs(found->sandbox.state))
            return 0;
        return refuse(decision, REFUSAL_GONE);
    }
    if (is_link(request))
        return authorize_link(worker, request, found, decision);
    if (!is_genuine(worker, request, request->token, &claim))
        return refuse(decision, REFUSAL_UNAUTHORIZED);
    if (find_sandbox(worker, request, found, decision) < 0)
        return -1;
    return session_fits(&claim, found->sandbox.id, found->sandbox.session_epoch)
               ? 0
               : refuse(decision, REFUSAL_UNAUTHORIZED);
}

static int authorize_preview(struct worker *worker, const struct gate_request *request,
                             struct gate_sandbox *found, struct gate_decision *decision)
{
    if (find_sandbox(worker, request, found, decision) < 0)
        return -1;
    if (request->link_token && token_fits(worker, request, request->link_token, found))
        return refuse(decision, REFUSAL_SET_COOKIE);
    if (found->port == GATE_PORT_NONE)
        return refuse(decision, REFUSAL_PORT_NOT_EXPOSED);
    if (found->port == GATE_PORT_PUBLIC && found->sandbox.allow_public_traffic)
        return 0;
    if (token_fits(worker, request, request->token, found))
        return 0;
    if (token_fits(worker, request, request->cookie, found))
        return request->is_foreign ? refuse(decision, REFUSAL_FOREIGN_PAGE) : 0;
    return refuse(decision,
                  request->token || request->cookie ? REFUSAL_BAD_TOKEN : REFUSAL_PRIVATE_PORT);
}

bool gate_token_sandbox(struct worker *worker, const struct gate_request *request,
                        char sandbox_id[ID_SIZE])
{
    const char *const tokens[] = {request->token, request->cookie, request->link_token};
    for (size_t i = 0; i < ARRAY_SIZE(tokens); i++) {
        struct session_claim claim;
        error_auto err = NULL;
        if (tokens[i] && session_open(worker->ring, tokens[i], &claim, &err) == 0) {
            memcpy(sandbox_id, claim.sandbox_id, ID_SIZE);
            return true;
        }
    }
    return false;
}

/* --- waiting (returns as above) --- */

static int hand_on(struct gate_decision *decision)
{
    decision->outcome = GATE_WAKE;
    return -1;
}

/* Enter the pool, or return GATE_WAIT. One worker of a pool waits for one sandbox. At most half of
 * the workers wait for sandboxes of one team or one user. wakes: the sandbox has to start. */
static int enter(struct gate *gate, const struct gate_sandbox *found, bool wakes,
                 struct gate_decision *decision)
{
    decision->claim = (struct pool_claim){
        .team = pool_tenant(found->sandbox.team_id),
        .user = pool_tenant(found->sandbox.created_by),
        .sandbox = pool_tenant(found->sandbox.id),
        .alone = true,
        .starts = wakes,
        .waits = found->has_hooks && wakes,
    };
    if (pool_enter(gate->pool, &decision->claim))
        return 0;
    decision->outcome = GATE_WAIT;
    return -1;
}

/* --- resume --- */

/* Note a resume that kept a worker for long and failed: the next one would probably do the same. */
static void note_failed_wake(struct gate *gate, const struct gate_sandbox *found,
                             int64_t started_ms, const struct error *err)
{
    bool failed = err->code == ERR_RUNTIME_UNAVAILABLE || err->code == ERR_OUTCOME_UNKNOWN ||
                  error_http_status(err->code) == 500;
    if (failed && clock_monotonic_ms() - started_ms > LONG_WAKE_MS)
        agent_notes_silent(gate->notes, pool_tenant(found->sandbox.id));
}

/* Resume a sandbox, with an entry in the audit log. The actor is the service, because a request
 * that wakes a sandbox needs no API key. */
static int wake_recorded(struct gate *gate, const struct gate_request *request,
                         const struct gate_sandbox *found, struct sandbox *woken,
                         struct error **err)
{
    struct worker *worker = &gate->worker;
    struct audit audit;
    error_auto lost = NULL;
    audit_by_service(&audit, &audit_SANDBOX_RESUME,
                     request->preview_port ? "preview" : "data plane");
    audit_about(&audit, found->sandbox.id);
    snprintf(audit.entry.team_id, ID_SIZE, "%s", found->sandbox.team_id);
    snprintf(audit.entry.address, sizeof audit.entry.address, "%s", request->client);
    snprintf(audit.entry.request_id, sizeof audit.entry.request_id, "%s", request->request_id);
    if (audit_begin(&audit, worker->db, worker->ring, err) < 0)
        return -1;
    int result = sandbox_wake(worker, found->sandbox.id, woken, err);
    if (audit_end(&audit, result < 0 ? *err : NULL, &lost) < 0) /* the sandbox runs, so do not
                                                                 * refuse the request */
        log_warning("cannot record the result of a wake-up in the audit log",
                    LOG_STR("sandbox", found->sandbox.id), LOG_ERROR(lost));
    return result;
}

static int bring_up(struct gate *gate, const struct gate_request *request,
                    struct gate_sandbox *found, struct gate_decision *decision)
{
    error_auto err = NULL;
    sandbox_auto woken = {0};
    int64_t started_ms = clock_monotonic_ms();
    if (wake_recorded(gate, request, found, &woken, &err) < 0) {
        note_failed_wake(gate, found, started_ms, err);
        refuse_error(decision, err);
        /* The runtime answered, but the resume failed. */
        if (decision->reason == REFUSAL_UNAVAILABLE && error_http_status(err->code) == 500)
            refuse(decision, REFUSAL_RESUME_FAILED);
        return -1;
    }
    agent_notes_answered(gate->notes, pool_tenant(found->sandbox.id));
    found->sandbox.host_id = woken.host_id;
    found->sandbox.address = woken.address;
    found->sandbox.agent_key_id = woken.agent_key_id;
    snprintf(found->sandbox.instance_name, sizeof found->sandbox.instance_name, "%s",
             woken.instance_name);
    return 0;
}

static bool comes_from_archive(struct gate *gate, const struct gate_sandbox *found,
                               const struct error *why)
{
    bool has = false;
    error_auto unknown = NULL;
    return why->code == ERR_HOST_LOST &&
           archive_has(gate->worker.db, found->sandbox.id, &has, &unknown) == 0 && has;
}

static int wake(struct gate *gate, const struct gate_request *request, struct gate_sandbox *found,
                struct gate_decision *decision)
{
    error_auto err = NULL;
    if (request->is_poll)
        return refuse(decision, REFUSAL_BUSY);
    if (runtimes_check(gate->worker.runtimes, gate->worker.db, found->sandbox.host_id, &err) < 0 &&
        !comes_from_archive(gate, found, err))
        return refuse_error(decision, err);
    if (agent_notes_is_silent(gate->notes, pool_tenant(found->sandbox.id)))
        return refuse(decision, REFUSAL_RESUME_FAILED);
    if (!request->may_wait)
        return hand_on(decision);
    return enter(gate, found, true, decision) < 0 ? -1 : bring_up(gate, request, found, decision);
}

/* Check whether a paused sandbox moves to another host, and resumes there by itself. */
static bool moves(struct worker *worker, const struct sandbox *sandbox)
{
    bool goes_on = false;
    error_auto unknown = NULL;
    return str_equal(sandbox->stop_reason, MOVED_BY_MOVE) &&
           move_goes_on(worker->db, sandbox->id, &goes_on, &unknown) == 0 && goes_on;
}

/* Return why a sandbox that nothing wakes gets no request. */
static enum refusal_reason reason_of(struct worker *worker, const struct sandbox *sandbox)
{
    if (sandbox_state_told(sandbox->state) != SANDBOX_STOPPED)
        return REFUSAL_PAUSING;
    if (moves(worker, sandbox))
        return REFUSAL_BUSY;
    return sandbox_has_ended(sandbox) ? REFUSAL_ENDED : REFUSAL_PAUSED;
}

static int ensure_running(struct gate *gate, const struct gate_request *request,
                          struct gate_sandbox *found, struct gate_decision *decision)
{
    switch (found->sandbox.state) {
    case SANDBOX_READY:
    case SANDBOX_CHECKPOINTING:
        return 0;
    case SANDBOX_CREATING:
    case SANDBOX_RESTORING:
        return wake(gate, request, found, decision);
    default:
        if (found->sandbox.auto_resume && !request->is_poll)
            return wake(gate, request, found, decision);
        return refuse(decision, reason_of(&gate->worker, &found->sandbox));
    }
}

/* --- routing --- */

static int route_to_host(struct worker *worker, const struct sandbox *sandbox,
                         struct gate_decision *decision)
{
    error_auto err = NULL;
    if (runtimes_relay(worker->runtimes, worker->db, sandbox->host_id, &decision->relay, &err) < 0)
        return refuse_error(decision, err);
    return 0;
}

/* Refuse for an agent that has just failed to answer. If another request waits for the agent, pass
 * this one on to a pool that may wait. */
static int may_ask(struct gate *gate, const struct gate_request *request,
                   const struct gate_sandbox *found, struct gate_decision *decision)
{
    uint64_t sandbox = pool_tenant(found->sandbox.id);
    if (agent_notes_is_silent(gate->notes, sandbox))
        return refuse(decision, REFUSAL_AGENT_SILENT);
    if (!request->may_wait && agent_notes_is_slow(gate->notes, sandbox))
        return hand_on(decision);
    return enter(gate, found, false, decision);
}

/* Refuse if this worker may wait, or if the sandbox is known to be silent. Otherwise pass the
 * request on to a pool that may wait. */
static int did_not_answer(struct gate *gate, const struct gate_request *request,
                          const struct gate_sandbox *found, struct gate_decision *decision)
{
    uint64_t sandbox = pool_tenant(found->sandbox.id);
    if (request->may_wait || found->sandbox.silent_since_ms) {
        agent_notes_silent(gate->notes, sandbox);
        return refuse(decision, REFUSAL_AGENT_SILENT);
    }
    agent_notes_slow(gate->notes, sandbox, AGENT_WAIT_MS);
    return hand_on(decision);
}

static int take_listener(const struct gate_sandbox *found, enum agent_listener listener,
                         struct gate_decision *decision)
{
    if (listener == AGENT_LISTENER_NONE)
        return refuse(decision, REFUSAL_NO_LISTENER);
    /* The agent's relay reads the head of a request, which TLS hides. */
    if (found->is_https && listener == AGENT_LISTENER_LOOPBACK)
        return refuse(decision, REFUSAL_TLS_ON_LOOPBACK);
    return 0;
}

static int find_listener(struct gate *gate, const struct gate_request *request,
                         const struct gate_sandbox *found, enum agent_listener *listener,
                         struct gate_decision *decision)
{
    error_auto err = NULL;
    uint64_t sandbox = pool_tenant(found->sandbox.id);
    unsigned wait_ms =
        request->may_wait ? AGENT_WAIT_MS : (unsigned)gate->worker.settings->gate_wait_ms;
    struct agent_place at;
    if (runtimes_agent(gate->worker.runtimes, gate->worker.db, found->sandbox.host_id,
                       found->sandbox.address, &at, &err) < 0)
        return refuse_error(decision, err);
    if (may_ask(gate, request, found, decision) < 0)
        return -1;
    if (agent_port_listener(&at, decision->secret, request->preview_port, deadline_in_ms(wait_ms),
                            listener, &err) == 0) {
        if (request->may_wait)
            agent_notes_answered(gate->notes, sandbox);
        return take_listener(found, *listener, decision);
    }
    return err->code == ERR_AGENT_SILENT ? did_not_answer(gate, request, found, decision)
                                         : refuse_error(decision, err);
}

/* Ask the agent of a silent sandbox whether it works. The kernel accepts connections for a stopped
 * or frozen agent, and a call would wait on one. Agents of other sandboxes are not asked: a busy
 * agent may need seconds. */
static int check_agent(struct gate *gate, const struct gate_request *request,
                       const struct gate_sandbox *found, struct gate_decision *decision)
{
    error_auto err = NULL;
    uint64_t sandbox = pool_tenant(found->sandbox.id);
    struct deadline until = deadline_in_ms((unsigned)gate->worker.settings->gate_wait_ms);
    enum agent_listener ignored;
    struct agent_place at;
    if (!found->sandbox.silent_since_ms || agent_notes_is_fresh(gate->notes, sandbox))
        return 0;
    if (runtimes_agent(gate->worker.runtimes, gate->worker.db, found->sandbox.host_id,
                       found->sandbox.address, &at, &err) < 0)
        return refuse_error(decision, err);
    if (may_ask(gate, request, found, decision) < 0)
        return -1;
    if (agent_port_listener(&at, decision->secret, AGENT_PORT, until, &ignored, &err) < 0 &&
        err->code == ERR_AGENT_SILENT)
        return did_not_answer(gate, request, found, decision);
    agent_notes_answered(gate->notes, sandbox);
    return 0;
}

static int route_data_plane(struct gate *gate, const struct gate_request *request,
                            const struct gate_sandbox *found, struct gate_decision *decision)
{
    const struct sandbox *sandbox = &found->sandbox;
    char address[IPV4_TEXT_SIZE];
    error_auto err = NULL;
    if (agent_secret(gate->worker.ring, sandbox->instance_name, sandbox->agent_key_id,
                     decision->secret, &err) < 0)
        return refuse_error(decision, err);
    if (check_agent(gate, request, found, decision) < 0) {
        mem_wipe(decision->secret, sizeof decision->secret);
        return -1;
    }
    if (route_to_host(&gate->worker, sandbox, decision) < 0)
        return -1;
    snprintf(decision->upstream, sizeof decision->upstream, "%s:%d",
             ipv4_format(sandbox->address, address), AGENT_PORT);
    return 0;
}

/* Servers without TLS are reached through the agent's relay (guest/agent/relay.h). The relay checks
 * the secret and removes it, so the server never gets it. */
static int route_preview(struct gate *gate, const struct gate_request *request,
                         const struct gate_sandbox *found, struct gate_decision *decision)
{
    char address[IPV4_TEXT_SIZE];
    enum agent_listener listener = AGENT_LISTENER_NONE;
    uint16_t port = request->preview_port;
    error_auto err = NULL;
    if (agent_secret(gate->worker.ring, found->sandbox.instance_name, found->sandbox.agent_key_id,
                     decision->secret, &err) < 0)
        return refuse_error(decision, err);
    int result = find_listener(gate, request, found, &listener, decision);
    bool is_relayed = result == 0 && !found->is_https;
    if (!is_relayed)
        mem_wipe(decision->secret, sizeof decision->secret);
    if (result < 0 || route_to_host(&gate->worker, &found->sandbox, decision) < 0)
        return -1;
    decision->relay_port = is_relayed ? port : 0;
    decision->is_https = found->is_https;
    request_host_of(&found->sandbox, port, decision->host);
    snprintf(decision->upstream, sizeof decision->upstream, "%s:%d",
             ipv4_format(found->sandbox.address, address), is_relayed ? AGENT_RELAY_PORT : port);
    return 0;
}

static int authorize(struct worker *worker, const struct gate_request *request,
                     struct gate_sandbox *found, struct gate_decision *decision)
{
    return request->preview_port ? authorize_preview(worker, request, found, decision)
                                 : authorize_data_plane(worker, request, found, decision);
}

/* Authorize a request once more after a wait for a resume or for the agent. Its token may have
 * ended meanwhile, or its port may be closed. This has ended all connections, but the request gets
 * its connection only now. */
static int authorize_again(struct gate *gate, const struct gate_request *request,
                           int64_t started_ms, struct gate_decision *decision)
{
    struct gate_sandbox now;
    if (clock_monotonic_ms() - started_ms < SAME_ROW_MS ||
        authorize(&gate->worker, request, &now, decision) == 0)
        return 0;
    mem_wipe(decision->secret, sizeof decision->secret);
    return -1;
}

void gate_decide(struct gate *gate, const struct gate_request *request,
                 struct gate_decision *decision)
{
    struct gate_sandbox found;
    int64_t started_ms = clock_monotonic_ms();
    *decision = (struct gate_decision){.outcome = GATE_PASS};
    if (authorize(&gate->worker, request, &found, decision) < 0 ||
        ensure_running(gate, request, &found, decision) < 0)
        return;
    int result = request->preview_port ? route_preview(gate, request, &found, decision)
                                       : route_data_plane(gate, request, &found, decision);
    if (result == 0)
        result = authorize_again(gate, request, started_ms, decision);
    if (result == 0 && request->is_poll)
        refuse(decision, REFUSAL_LISTENING);
    /* nginx must not cache these passes:
     * - A signature opened it. nginx does not check signatures: the pass would let everybody in.
     * - A health check, unless nginx keeps such passes apart.
     * - The sandbox resumes by itself. A request that follows a pause must wake it; a cached pass
     *   would send the request to an instance that no longer runs.
     * - A cookie opened it, unless the request came from the preview's own pages: nginx does not
     *   know the origin of other requests. */
    decision->cacheable = result == 0 && found.sandbox.state == SANDBOX_READY &&
                          !found.sandbox.auto_resume && !request->is_poll && !is_link(request) &&
                          (!request->cookie || request->is_kept_as_own) &&
                          (request->is_kept_as_health || !is_health_check(request));
}

enum refusal_reason gate_explain_failure(struct gate *gate, const struct gate_request *request,
                                         enum refusal_reason reason)
{
    struct gate_sandbox found;
    struct gate_decision decision = {.outcome = GATE_PASS};
    struct gate_request question = *request;
    question.is_poll = true;
    if (find_sandbox(&gate->worker, &question, &found, &decision) == 0 &&
        ensure_running(gate, &question, &found, &decision) == 0) {
        if (found.sandbox.silent_since_ms)
            return REFUSAL_AGENT_SILENT;
        if (question.preview_port)
            route_preview(gate, &question, &found, &decision);
        else
            route_to_host(&gate->worker, &found.sandbox, &decision);
    }
    mem_wipe(decision.secret, sizeof decision.secret);
    /* Only a refusal has a reason of its own. Otherwise the state explains nothing, or the agent
     * cannot be asked now. */
    if (decision.outcome == GATE_REFUSE)
        return decision.reason;
    bool has_server = decision.outcome == GATE_PASS && question.preview_port && !decision.is_https;
    return has_server && reason == REFUSAL_UPSTREAM_FAILED ? REFUSAL_NO_ANSWER : reason;
}
