/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Destinations that a sandbox asks for: list, answer. */
#include <stdlib.h>

#include "api/api.h"
#include "api/sandbox_output.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/ulid.h"
#include "sandbox/sandbox_network.h"

const struct schema_member approval_answer_schema[] = {
    {.name = "answer", .type = SCHEMA_STRING, .required = true, .choices = approval_answer_names},
    {.name = "minutes", .type = SCHEMA_INTEGER, .min = 1, .max = APPROVAL_MINUTES_MAX},
    {.name = NULL},
};

static json_t *approval_to_json(const struct approval *approval, const char *state)
{
    return json_pack("{s:s, s:s, s:s, s:o, s:o}", "id", approval->id, "target", approval->target,
                     "state", state, "asked_at", time_to_json(approval->asked_at_ms), "until",
                     time_to_json(approval->until_ms));
}

int approvals_list(void *context, struct http_request *request, struct http_response *response,
                   struct error **err)
{
    struct api *api = context;
    autofree struct approval *list = NULL;
    unsigned count;
    (void)request;
    if (approval_list(api->worker.db, api->access.sandbox.id, &list, &count, err) < 0)
        return -1;
    json_t *approvals = json_array();
    for (unsigned i = 0; i < count; i++)
        json_array_append_new(
            approvals,
            approval_to_json(&list[i], list[i].until_ms > clock_now_ms() ? "allowed" : "pending"));
    return http_response_json(response, 200, json_pack("{s:o}", "approvals", approvals));
}

static int read_answer(const json_t *body, struct sandbox_approval *answer, struct error **err)
{
    const json_t *minutes = json_object_get(body, "minutes");
    answer->answer = approval_answer_parse(json_string_value(json_object_get(body, "answer")));
    answer->minutes = (unsigned)json_integer_value(minutes);
    if ((answer->answer == APPROVAL_MINUTES) == (minutes != NULL))
        return 0;
    return error_set_field(
        err, ERR_INVALID_REQUEST, "/minutes",
        "The answer \"minutes\" needs the member minutes; other answers cannot have it.");
}

int approvals_answer(void *context, struct http_request *request, struct http_response *response,
                     struct error **err)
{
    struct api *api = context;
    sandbox_auto changed = {0};
    struct sandbox_approval answer = {.id = request->captures[1]};
    if (!id_is_valid("apr_", answer.id))
        return error_set(err, ERR_NOT_FOUND, "There is no such approval.");
    if (read_answer(request->json, &answer, err) < 0 ||
        sandbox_network_approve(&api->worker, api->access.sandbox.id, &answer, &changed, err) < 0)
        return -1;
    bool denied = answer.answer == APPROVAL_NEVER;
    const char *status = sandbox_network_status(&changed);
    json_t *body = approval_to_json(&answer.approval, denied ? "denied" : "allowed");
    json_object_set_new(body, "status", json_string(status));
    return http_response_json(response, str_equal(status, "applied") ? 200 : 202, body);
}
