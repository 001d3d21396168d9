/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "gate/refusal.h"

#include <stdlib.h>
#include <string.h>

#include "account/account.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "gate/audience.h"
#include "gate/decide.h"
#include "gate/e2b_refusal.h"
#include "gate/gate_db.h"
#include "gate/token.h"
#include "refusal/html.h"
#include "sandbox/quota.h"
#include "session/session.h"

#define LOCATION_MAX  65536
#define RETRY_AFTER_S "2"

/* Return the address without the token: the path and the rest of the query. */
static char *clean_location(const char *path, const char *query)
{
    struct buffer location;
    buffer_init(&location, LOCATION_MAX);
    buffer_append_string(&location, path);
    char joint = '?';
    while (query && *query) {
        size_t pair = strcspn(query, "&");
        bool is_token = !strncmp(query, GATE_QUERY_TOKEN "=", sizeof GATE_QUERY_TOKEN);
        if (pair && !is_token) {
            buffer_append_char(&location, joint);
            buffer_append(&location, query, pair);
            joint = '&';
        }
        query += pair + (query[pair] == '&');
    }
    return buffer_steal(&location);
}

static bool is_header_text(const char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text <= ' ' || *text == 0x7f)
            return false;
    return true;
}

/* Set a cookie that opens only the preview of this port, even if the link's token opens more:
 * browsers keep cookies for longer than people expect. */
static void set_cookie(const struct gate *gate, const struct http_request *request,
                       struct http_response *response)
{
    struct session session;
    struct session_claim claim;
    error_auto err = NULL;
    uint64_t port = 0;
    const char *text = http_parameter(request, "SANDLOT_PORT");
    autowipe char *token = token_of_query(request);
    if (!token || !text || str_parse_u64(text, 1, UINT16_MAX, &port) < 0 ||
        session_open(gate->worker.ring, token, &claim, &err) < 0 ||
        session_narrow(gate->worker.ring, &claim, (uint16_t)port, &session, &err) < 0)
        return;
    http_response_header(response, "Set-Cookie",
                         GATE_COOKIE "=%s; Path=/; Secure; HttpOnly; SameSite=Lax", session.token);
    session_wipe(&session);
}

static void answer_cookie(const struct gate *gate, const struct http_request *request,
                          struct http_response *response)
{
    const char *path = http_parameter(request, "SANDLOT_URI");
    autofree char *location =
        clean_location(path && *path == '/' ? path : "/", http_parameter(request, "SANDLOT_QUERY"));
    /* "//host" would redirect to another site. */
    const char *target = location + strspn(location, "/") - 1;
    response->status = 303;
    response->content_type = "text/plain";
    set_cookie(gate, request, response);
    http_response_header(response, "Location", "%s", is_header_text(target) ? target : "/");
    http_response_header(response, "Referrer-Policy", "no-referrer");
}

static enum refusal_reason find_reason(struct gate *gate, const struct http_request *request,
                                       bool is_preview)
{
    enum refusal_reason reason;
    const char *name = http_parameter(request, "SANDLOT_REASON");
    const char *route = http_parameter(request, "SANDLOT_ROUTE");
    const char *port = http_parameter(request, "SANDLOT_PORT");
    uint64_t number = 0;
    if (!name || refusal_reason_parse(name, &reason) < 0)
        return REFUSAL_UNAVAILABLE;
    if (reason != REFUSAL_UPSTREAM_FAILED && reason != REFUSAL_UPSTREAM_TIMEOUT)
        return reason;
    if (is_preview && (!port || str_parse_u64(port, 1, 65535, &number) < 0))
        return reason;
    struct gate_request question = {
        .route = route ? route : "",
        .preview_port = (uint16_t)number,
    };
    return gate_explain_failure(gate, &question, reason);
}

static void answer_page(const struct worker *worker, struct http_request *request,
                        struct http_response *response, enum refusal_reason reason, int status)
{
    const char *host = http_parameter(request, "SANDLOT_HOST");
    const char *port = http_parameter(request, "SANDLOT_PORT");
    struct refusal_html page = {
        .reason = reason,
        .status = status,
        /* Reloading the answer to a form would send the form again. */
        .waits = reason == REFUSAL_NO_LISTENER && str_equal(request->method, "GET"),
        .base_url = worker->settings->base_url,
        .host = host ? host : "",
        .port = port ? port : "",
        .request_id = request->request_id,
    };
    refusal_html_answer(&page, response);
}

/* Return whether the client has a token that opens the whole sandbox. Visitors of a public preview,
 * and holders of a link or of a token for previews, do not belong to the team. */
static bool is_of_team(const struct gate *gate, const struct http_request *request,
                       const struct sandbox *sandbox, bool is_preview)
{
    struct session_claim claim;
    error_auto err = NULL;
    autowipe char *token = token_given(request, is_preview);
    return session_open(gate->worker.ring, token, &claim, &err) == 0 && !claim.scope.is_preview &&
           session_fits(&claim, sandbox->id, sandbox->session_epoch);
}

static int read_quota(struct db *db, const char *sandbox_id, struct quota *quota,
                      struct error **err)
{
    struct team team;
    struct plan plan;
    sandbox_auto sandbox = {0};
    return sandbox_get_any(db, sandbox_id, false, &sandbox, err) < 0 ||
                   team_get_by_slug(db, sandbox.team_slug, &team, err) < 0 ||
                   plan_get(db, team.plan, &plan, err) < 0
               ? -1
               : quota_read(db, team.id, &plan, &sandbox.resources, quota, err);
}

/* Add the quota of the team, as in the refusal of a resume. */
static void add_quota(struct gate *gate, const struct http_request *request, bool is_preview,
                      json_t *body)
{
    struct gate_sandbox found;
    struct quota quota;
    struct db *db = gate->worker.db;
    error_auto failure = NULL;
    const char *route = http_parameter(request, "SANDLOT_ROUTE");
    int result = gate_sandbox_get(db, route ? route : "", 0, &found, &failure);
    if (result == 0 && !is_of_team(gate, request, &found.sandbox, is_preview))
        return;
    if (result == 0 && read_quota(db, found.sandbox.id, &quota, &failure) == 0)
        json_object_set_new(body, "quota", quota_to_json(&quota));
    else
        log_warning("cannot read the quota of a sandbox's team; the answer lacks the numbers",
                    LOG_STR("route", route ? route : ""), LOG_ERROR(failure));
}

bool refusal_is_of_call(const struct http_request *request)
{
    const char *path = http_parameter(request, "SANDLOT_URI");
    return path && !str_equal(http_parameter(request, "SANDLOT_TARGET"), "preview") &&
           (str_starts_with(path, "/process.Process/") ||
            str_starts_with(path, "/filesystem.Filesystem/"));
}

/* Return the member `code` of the agent's errors at this address: a word of the Connect protocol
 * for its calls, otherwise the status. */
static json_t *agent_code(const struct http_request *request, int status)
{
    static const struct {
        int status;
        const char *word;
    } words[] = {
        {401, "unauthenticated"},     {403, "permission_denied"},  {404, "not_found"},
        {409, "failed_precondition"}, {429, "resource_exhausted"}, {502, "unavailable"},
        {503, "unavailable"},         {504, "deadline_exceeded"},
    };
    if (!refusal_is_of_call(request))
        return json_integer(status);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (words[i].status == status)
            return json_string(words[i].word);
    return json_string("unknown");
}

void gate_serve_refusal(struct gate *gate, struct http_request *request,
                        struct http_response *response)
{
    bool is_preview = str_equal(http_parameter(request, "SANDLOT_TARGET"), "preview");
    enum refusal_reason reason = find_reason(gate, request, is_preview);
    if (reason == REFUSAL_SET_COOKIE) {
        answer_cookie(gate, request, response);
        return;
    }
    int status = refusal_reason_status(reason, is_preview);
    if (status == 204) {
        response->status = status;
        return;
    }
    if (status == 401)
        http_response_header(response, "WWW-Authenticate", "Bearer");
    if (status == 429 || status == 503 || reason == REFUSAL_BUSY || reason == REFUSAL_PAUSING)
        http_response_header(response, "Retry-After", RETRY_AFTER_S);
    /* One address has two kinds of answer, and browsers keep neither. */
    if (is_preview)
        http_response_header(response, "Vary", "Accept, Sec-Fetch-Mode, Sec-Fetch-Dest%s",
                             e2b_refusal_is_due(request) ? ", User-Agent" : "");
    if (is_preview && audience_wants_page(request)) {
        answer_page(&gate->worker, request, response, reason, status);
        return;
    }
    if (e2b_refusal_is_due(request)) {
        e2b_refusal_answer(request, reason, status, response);
        return;
    }
    if (reason == REFUSAL_BAD_SIGNATURE || reason == REFUSAL_OLD_SIGNATURE) {
        /* E2B's clients sign links to any address, and expect only these two members. */
        http_response_json(
            response, status,
            json_pack("{s:i, s:s}", "code", status, "message", refusal_reason_sentence(reason)));
        return;
    }
    json_t *body = json_pack("{s:s, s:s, s:s}", "error", refusal_reason_code(reason), "message",
                             refusal_reason_sentence(reason), "request_id", request->request_id);
    if (reason == REFUSAL_QUOTA)
        add_quota(gate, request, is_preview, body);
    if (!is_preview)
        json_object_set_new(body, "code", agent_code(request, status));
    http_response_json(response, status, body);
}
