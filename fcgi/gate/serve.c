/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "gate/serve.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "gate/decide.h"

#define COOKIE_NAME     "sandlot_access_token"
#define QUERY_PARAMETER "access_token"
#define TOKEN_MAX       256

/* --- where the token is --- */

/* The value of name in "a=1; b=2" or "a=1&b=2" as a new string, or NULL. */
static char *value_in_list(const char *list, const char *name, const char *separators)
{
    size_t length = strlen(name);
    while (list && *list) {
        list += strspn(list, separators);
        size_t pair = strcspn(list, separators);
        if (pair > length && !strncmp(list, name, length) && list[length] == '=' &&
            pair - length - 1 <= TOKEN_MAX)
            return xstrndup(list + length + 1, pair - length - 1);
        list += pair;
    }
    return NULL;
}

static char *bearer_token(const struct http_request *request)
{
    const char *value = http_header(request, "Authorization");
    if (!value || strncasecmp(value, "Bearer ", 7))
        return NULL;
    return xstrndup(value + 7 + strspn(value + 7, " "), TOKEN_MAX);
}

static char *header_token(const struct http_request *request)
{
    const char *value = http_header(request, "X-Access-Token");
    return value && *value ? xstrndup(value, TOKEN_MAX) : NULL;
}

static char *query_token(const struct http_request *request)
{
    return value_in_list(http_parameter(request, "SANDLOT_QUERY"), QUERY_PARAMETER, "&");
}

/* A preview's Authorization header belongs to the application. */
static char *find_token(const struct http_request *request, bool is_preview)
{
    char *token = header_token(request);
    if (!token && is_preview)
        token = value_in_list(http_header(request, "Cookie"), COOKIE_NAME, "; ");
    if (!token && is_preview)
        token = query_token(request);
    if (!token && !is_preview)
        token = bearer_token(request);
    return token;
}

/* --- questions --- */

static uint16_t preview_port(const struct http_request *request)
{
    uint64_t port = 0;
    const char *text = http_parameter(request, "SANDLOT_PORT");
    return text && str_parse_u64(text, 1, 65535, &port) == 0 ? (uint16_t)port : 0;
}

static void answer_refusal(struct http_response *response, enum gate_reason reason, bool is_preview)
{
    response->status = 403;
    http_response_header(response, "X-Sandlot-Status", "%d",
                         gate_reason_status(reason, is_preview));
    http_response_header(response, "X-Sandlot-Reason", "%s", gate_reason_name(reason));
}

static void answer_decision(struct http_response *response, const struct gate_decision *decision,
                            bool is_preview)
{
    switch (decision->outcome) {
    case GATE_PASS:
        http_response_header(response, "X-Sandlot-Upstream", "%s", decision->upstream);
        if (decision->secret[0])
            http_response_header(response, "X-Sandlot-Agent-Secret", "%s", decision->secret);
        if (decision->relay_port)
            http_response_header(response, "X-Sandlot-Relay-Port", "%u", decision->relay_port);
        break;
    case GATE_WAKE:
        response->status = 409;
        break;
    case GATE_REFUSE:
        answer_refusal(response, decision->reason, is_preview);
        break;
    }
}

static void serve_question(struct sandbox_service *service, struct http_request *request,
                           struct http_response *response, bool is_preview)
{
    const char *route = http_parameter(request, "SANDLOT_ROUTE");
    const char *method = http_parameter(request, "SANDLOT_METHOD");
    const char *path = http_parameter(request, "SANDLOT_URI");
    const char *wake = http_parameter(request, "SANDLOT_WAKE");
    autowipe char *token = find_token(request, is_preview);
    autowipe char *link_token = is_preview ? query_token(request) : NULL;
    struct gate_request question = {
        .route = route ? route : "",
        .preview_port = is_preview ? preview_port(request) : 0,
        .method = method ? method : "",
        .path = path ? path : "",
        .token = token,
        .may_wait = str_equal(wake, "1"),
    };
    if (is_preview && !question.preview_port) {
        answer_refusal(response, GATE_PORT_NOT_EXPOSED, true);
        return;
    }
    struct gate_decision decision;
    if (link_token && gate_token_fits(service, &question, link_token)) {
        answer_refusal(response, GATE_SET_COOKIE, true);
        return;
    }
    gate_decide(service, &question, &decision);
    answer_decision(response, &decision, is_preview);
    mem_wipe(&decision, sizeof decision);
}

/* --- what a refused client sees --- */

/* The address again, without the token: path and the rest of the query. */
static char *clean_location(const char *path, const char *query)
{
    struct buffer location;
    buffer_init(&location, 65536);
    buffer_append_string(&location, path);
    char joint = '?';
    while (query && *query) {
        size_t pair = strcspn(query, "&");
        bool is_token = !strncmp(query, QUERY_PARAMETER "=", sizeof QUERY_PARAMETER);
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

/* Host-only, so that no other sandbox of the same domain ever receives it. */
static void answer_cookie(const struct http_request *request, struct http_response *response)
{
    const char *path = http_parameter(request, "SANDLOT_URI");
    autowipe char *token = query_token(request);
    autofree char *location =
        clean_location(path && *path == '/' ? path : "/", http_parameter(request, "SANDLOT_QUERY"));
    /* "//host" would leave for another site. */
    const char *target = location + strspn(location, "/") - 1;
    response->status = 303;
    response->content_type = "text/plain";
    if (token && is_header_text(token) && !strpbrk(token, ";,\""))
        http_response_header(response, "Set-Cookie",
                             COOKIE_NAME "=%s; Path=/; Secure; HttpOnly; SameSite=Lax", token);
    http_response_header(response, "Location", "%s", is_header_text(target) ? target : "/");
}

static void serve_refusal(struct http_request *request, struct http_response *response)
{
    enum gate_reason reason;
    bool is_preview = str_equal(http_parameter(request, "SANDLOT_TARGET"), "preview");
    const char *name = http_parameter(request, "SANDLOT_REASON");
    if (!name || gate_reason_parse(name, &reason) < 0)
        reason = GATE_UNAVAILABLE;
    if (reason == GATE_SET_COOKIE) {
        answer_cookie(request, response);
        return;
    }
    int status = gate_reason_status(reason, is_preview);
    if (status == 401)
        http_response_header(response, "WWW-Authenticate", "Bearer");
    if (status == 503)
        http_response_header(response, "Retry-After", "2");
    http_response_json(response, status,
                       json_pack("{s:s, s:s, s:s}", "error", gate_reason_code(reason), "message",
                                 gate_reason_sentence(reason), "request_id", request->request_id));
}

void gate_serve(void *context, struct http_request *request, struct http_response *response)
{
    const char *kind = http_parameter(request, "SANDLOT_KIND");
    if (str_equal(kind, "data"))
        serve_question(context, request, response, false);
    else if (str_equal(kind, "preview"))
        serve_question(context, request, response, true);
    else
        serve_refusal(request, response);
}
