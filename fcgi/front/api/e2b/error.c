/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "api/e2b/e2b.h"

#include <string.h>

#include "base/mem.h"
#include "base/str.h"

#define RETRY_AFTER_S 2

/* Errors whose status of /v1 E2B's clients would misunderstand. They do not know 422. They expect
 * 429 for a limit of the team, 503 for "retry later" and 404 for a missing object. A pause answers
 * 409 only for a sandbox that is already paused. A resume of a running sandbox answers 409. */
static const struct {
    const char *error;
    int status;
} statuses[] = {
    {"sandbox_quota_exceeded", 429}, {"template_not_found", 404},
    {"volume_not_found", 404},       {"plan_restricts_resources", 400},
    {"invalid_request", 400},        {"invalid_next_token", 400},
    {"unsupported_media_type", 400}, {"insufficient_storage", 503},
    {"memory_not_kept", 503},        {"stopped_quota_exceeded", 429},
    {"volume_quota_exceeded", 400},  {"checkpoint_quota_exceeded", 429},
    {"build_quota_exceeded", 429},   {"precondition_failed", 409},
    {"template_in_use", 400},
};

/* Return E2B's code for an error, or the code of /v1. */
static const char *code_of(const char *error)
{
    static const struct {
        const char *error, *code;
    } codes[] = {
        {"no_capacity", "sandbox_capacity_unavailable"},
        {"insufficient_storage", "sandbox_capacity_unavailable"},
        {"internal", "internal_server_error"},
    };
    for (size_t i = 0; i < ARRAY_SIZE(codes); i++)
        if (str_equal(error, codes[i].error))
            return codes[i].code;
    return error;
}

static int status_of(const char *error, int status)
{
    for (size_t i = 0; i < ARRAY_SIZE(statuses); i++)
        if (status != 408 && str_equal(error, statuses[i].error))
            return statuses[i].status;
    return status;
}

/* Members and parameters of /v1 that have another name in E2B's API. */
static const struct {
    const char *ours, *theirs;
} members[] = {
    {"/allow_out", "/network/allowOut"},
    {"/deny_out", "/network/denyOut"},
    {"/https_ports", "/network/httpsPorts"},
    {"/mask_request_host", "/network/maskRequestHost"},
    {"/volume_mounts", "/volumeMounts"},
    {"/envs", "/envVars"},
    {"/template", "/templateID"},
    {"/rules", "/network/rules"},
    {"/egress_proxy", "/network/egressProxy"},
    {"next_token", "nextToken"},
    {"started_after", "startedAfter"},
};

/* Return the pointer to a member, or to a value in it, with E2B's names. The caller frees it. */
static char *field_of(const char *field)
{
    for (size_t i = 0; i < ARRAY_SIZE(members); i++) {
        size_t length = strlen(members[i].ours);
        if (str_starts_with(field, members[i].ours) && (!field[length] || field[length] == '/'))
            return xasprintf("%s%s", members[i].theirs, field + length);
    }
    return xstrdup(field);
}

/* Return the message with E2B's name of the field, in the places where it is. */
static json_t *message_of(const char *message, const char *field)
{
    autofree char *theirs = field_of(field);
    const char *rest = str_starts_with(message, field) ? message + strlen(field) : NULL;
    return rest ? json_sprintf("%s%s (%s)", theirs, rest, theirs)
                : json_sprintf("%s (%s)", message, theirs);
}

int e2b_status_of(const struct error *error)
{
    return status_of(error_api_code(error->code), error_http_status(error->code));
}

/* /v1 adds the header for its own status, which may differ. */
static void add_retry_after(struct http_response *response)
{
    if ((response->status == 429 || response->status == 503) &&
        !strstr(buffer_string(&response->headers), "Retry-After: "))
        http_response_header(response, "Retry-After", "%d", RETRY_AFTER_S);
}

void e2b_answer_error(struct http_response *response)
{
    const char *error = json_string_value(json_object_get(response->json, "error"));
    const char *field = json_string_value(json_object_get(response->json, "field"));
    if (response->status < 400 || !error)
        return;
    response->status = status_of(error, response->status);
    add_retry_after(response);
    json_t *message = json_incref(json_object_get(response->json, "message"));
    if (field && *field) {
        json_t *whole = message_of(json_string_value(message), field);
        json_decref(message);
        message = whole;
    }
    json_t *body = json_pack("{s:i, s:o, s:s}", "code", response->status, "message", message,
                             "error_code", code_of(error));
    json_decref(response->json);
    response->json = body;
}
