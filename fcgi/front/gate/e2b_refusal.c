/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "gate/e2b_refusal.h"

#include "base/str.h"
#include "gate/refusal.h"

bool e2b_refusal_is_due(const struct http_request *request)
{
    return http_parameter(request, "SANDLOT_E2B") != NULL;
}

static int status_of(enum refusal_reason reason, int status)
{
    switch (reason) {
    case REFUSAL_NO_SANDBOX:
    case REFUSAL_PAUSED:
    case REFUSAL_PAUSING:
    case REFUSAL_ENDED:
    case REFUSAL_HOST_LOST:
    case REFUSAL_GONE:
    case REFUSAL_PORT_NOT_EXPOSED:
    case REFUSAL_NO_LISTENER:
        return 502;
    case REFUSAL_PRIVATE_PORT:
    case REFUSAL_BAD_TOKEN:
        return 403;
    case REFUSAL_BUSY:
        return 409;
    case REFUSAL_QUOTA:
        return 429;
    default:
        return status;
    }
}

/* Return E2B's text for a refusal where it has one, otherwise sandlot's. */
static const char *message_of(enum refusal_reason reason)
{
    switch (reason) {
    case REFUSAL_NO_SANDBOX:
    case REFUSAL_PAUSED:
    case REFUSAL_PAUSING:
    case REFUSAL_GONE:
        return "The sandbox was not found";
    case REFUSAL_ENDED:
        return "The sandbox was not found: it ended by itself, or with its host";
    case REFUSAL_PORT_NOT_EXPOSED:
    case REFUSAL_NO_LISTENER:
        return "The sandbox is running but port is not open";
    case REFUSAL_PRIVATE_PORT:
        return "Sandbox is secured with traffic access token. Token header "
               "'e2b-traffic-access-token' is missing";
    case REFUSAL_BAD_TOKEN:
        return "Sandbox is secured with traffic access token. Token header "
               "'e2b-traffic-access-token' is invalid";
    default:
        return refusal_reason_sentence(reason);
    }
}

/* E2B's Python packages read the number 409 in the answer to a call as "exists already", and then
 * report that a directory exists which does not. */
static json_t *code_to_json(const struct http_request *request, int code)
{
    return code == 409 && refusal_is_of_call(request) ? json_string("failed_precondition")
                                                      : json_integer(code);
}

void e2b_refusal_answer(const struct http_request *request, enum refusal_reason reason, int status,
                        struct http_response *response)
{
    const char *route = http_parameter(request, "SANDLOT_ROUTE");
    const char *port = http_parameter(request, "SANDLOT_PORT");
    uint64_t number;
    int code = status_of(reason, status);
    json_t *body =
        json_pack("{s:o, s:s}", "code", code_to_json(request, code), "message", message_of(reason));
    bool is_link = reason == REFUSAL_OLD_SIGNATURE || reason == REFUSAL_BAD_SIGNATURE;
    /* E2B's agent answers links, and its answers have no sandboxId. */
    if (!is_link)
        json_object_set_new(body, "sandboxId", json_string(route ? route : ""));
    bool is_closed = reason == REFUSAL_NO_LISTENER || reason == REFUSAL_PORT_NOT_EXPOSED;
    if (is_closed && port && str_parse_u64(port, 1, 65535, &number) == 0)
        json_object_set_new(body, "port", json_integer((json_int_t)number));
    http_response_json(response, code, body);
}
