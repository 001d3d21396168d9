/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "gate/serve.h"

#include "base/clock.h"
#include "base/counters.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/throttle.h"
#include "gate/decide.h"
#include "gate/origin.h"
#include "gate/refusal.h"
#include "gate/token.h"

#define HAND_ON_AFTER_MS 500 /* the wait for other requests, before the other pool is asked */

static struct throttle refusals;

static uint16_t preview_port(const struct http_request *request)
{
    uint64_t port = 0;
    const char *text = http_parameter(request, "SANDLOT_PORT");
    return text && str_parse_u64(text, 1, 65535, &port) == 0 ? (uint16_t)port : 0;
}

static void answer_refusal(struct http_response *response, enum refusal_reason reason)
{
    response->status = 403;
    http_response_header(response, "Sandlot-Answer", "%s", refusal_reason_name(reason));
}

/* Answer with the upstream. nginx caches the answer under the second of its question, so no cached
 * answer is older than one second. */
static void answer_pass(struct http_response *response, const struct gate_decision *decision)
{
    if (decision->relay.url) {
        response->status = 401;
        http_response_header(response, "Through", "%s", decision->relay.url);
        http_response_header(response, "Host-Name", "%s", decision->relay.host_name);
    }
    http_response_header(response, "Sandlot-Answer", "%s", decision->upstream);
    if (decision->secret[0])
        http_response_header(response, "Agent-Secret", "%s", decision->secret);
    if (decision->relay_port)
        http_response_header(response, "Relay-Port", "%u", decision->relay_port);
    if (decision->host[0])
        http_response_header(response, "Mask-Host", "%s", decision->host);
    if (decision->is_https)
        http_response_header(response, "Upstream-Scheme", "https");
    if (!decision->cacheable)
        http_response_header(response, "X-Accel-Expires", "0");
}

/* Let the request wait for room in the pool. When the time is over, the gate pool passes the
 * question on to the wake pool. */
static void answer_wait(const struct gate *gate, struct http_request *request,
                        struct http_response *response, const struct gate_decision *decision)
{
    bool is_wake = str_equal(http_parameter(request, "SANDLOT_WAKE"), "1");
    request->must_wait = true;
    request->claim = decision->claim;
    request->wait_ms =
        is_wake ? (unsigned)gate->worker.settings->resume_wait_s * 1000 : HAND_ON_AFTER_MS;
    if (is_wake)
        answer_refusal(response, REFUSAL_SHARE_USED_UP);
    else
        response->status = 409;
}

static void answer_decision(const struct gate *gate, struct http_request *request,
                            struct http_response *response, const struct gate_decision *decision)
{
    switch (decision->outcome) {
    case GATE_PASS:
        answer_pass(response, decision);
        break;
    case GATE_WAKE:
        response->status = 409;
        break;
    case GATE_WAIT:
        answer_wait(gate, request, response, decision);
        break;
    case GATE_REFUSE:
        answer_refusal(response, decision->reason);
        break;
    }
}

/* Return whether a guessing client would get this refusal. Refusals for other causes do not
 * count. */
static bool is_guess(enum refusal_reason reason)
{
    switch (reason) {
    case REFUSAL_UNAUTHORIZED:
    case REFUSAL_BAD_SIGNATURE:
    case REFUSAL_NO_SANDBOX:
    case REFUSAL_PORT_NOT_EXPOSED:
    case REFUSAL_BAD_TOKEN:
    case REFUSAL_GONE:
        return true;
    default:
        return false;
    }
}

/* Decide, and count refusals for the address. An address over the limit may be a company's or a
 * proxy's. Clients there with a genuine token are still let in, and their guesses count for its
 * sandbox. */
static void decide(struct gate *gate, const struct gate_request *question, const char *address,
                   struct gate_decision *decision)
{
    uint64_t rate = gate->worker.settings->gate_refusal_rate;
    int64_t now_ms = clock_monotonic_us() / 1000;
    char sandbox_id[ID_SIZE];
    const char *whose = address;
    if (throttle_is_over(&refusals, address, rate, now_ms) &&
        gate_token_sandbox(&gate->worker, question, sandbox_id))
        whose = sandbox_id;
    if (throttle_is_over(&refusals, whose, rate, now_ms)) {
        *decision = (struct gate_decision){GATE_REFUSE, .reason = REFUSAL_RATE_LIMITED};
        return;
    }
    gate_decide(gate, question, decision);
    if (decision->outcome == GATE_REFUSE && is_guess(decision->reason))
        throttle_count(&refusals, whose, rate, now_ms);
}

static void count_decision(const struct gate_decision *decision)
{
    static const char *const outcomes[] = {
        [GATE_PASS] = "pass", [GATE_WAKE] = "wake", [GATE_WAIT] = "wait", [GATE_REFUSE] = NULL};
    COUNT(COUNT_GATE_DECISIONS, decision->outcome == GATE_REFUSE
                                    ? refusal_reason_name(decision->reason)
                                    : outcomes[decision->outcome]);
}

static void serve_question(struct gate *gate, struct http_request *request,
                           struct http_response *response, bool is_preview)
{
    const char *route = http_parameter(request, "SANDLOT_ROUTE");
    const char *method = http_parameter(request, "SANDLOT_METHOD");
    const char *path = http_parameter(request, "SANDLOT_URI");
    autowipe char *token = token_given(request, is_preview);
    autowipe char *cookie = is_preview ? token_of_cookie(request) : NULL;
    autowipe char *link_token = is_preview ? token_of_link(request) : NULL;
    struct gate_request question = {
        .route = route ? route : "",
        .preview_port = is_preview ? preview_port(request) : 0,
        .method = method ? method : "",
        .path = path ? path : "",
        .query = http_parameter(request, "SANDLOT_QUERY"),
        .token = token,
        .cookie = cookie,
        .is_foreign = cookie && origin_is_foreign(request),
        .is_kept_as_own = cookie && origin_is_own(request),
        .link_token = link_token,
        .may_wait = str_equal(http_parameter(request, "SANDLOT_WAKE"), "1"),
        .is_poll = is_preview && http_parameter(request, "SANDLOT_POLL"),
        .client = request->remote_address,
        .request_id = request->request_id,
        .is_kept_as_health = str_equal(http_parameter(request, "SANDLOT_PATH_CLASS"), "health"),
    };
    /* nginx parses each line of the answer again at each hit of its cache. */
    response->is_bare = true;
    if (is_preview && !question.preview_port) {
        answer_refusal(response, REFUSAL_PORT_NOT_EXPOSED);
        return;
    }
    struct gate_decision decision;
    decide(gate, &question, request->remote_address, &decision);
    count_decision(&decision);
    decision.cacheable &= !token_is_too_long(request, is_preview);
    answer_decision(gate, request, response, &decision);
    mem_wipe(&decision, sizeof decision);
}

void gate_serve(void *context, struct http_request *request, struct http_response *response)
{
    const char *kind = http_parameter(request, "SANDLOT_KIND");
    if (str_equal(kind, "data"))
        serve_question(context, request, response, false);
    else if (str_equal(kind, "preview"))
        serve_question(context, request, response, true);
    else
        gate_serve_refusal(context, request, response);
}
