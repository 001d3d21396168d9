/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Access tokens of a sandbox by themselves: its deadline and its state stay as they are. */
#include "api/api.h"
#include "api/sandbox_output.h"
#include "session/session.h"

static const char *const lifetime_choices[] = {"session", LIFETIME_SANDBOX, NULL};

const struct schema_member session_create_schema[] = {
    {.name = "lifetime", .type = SCHEMA_STRING, .choices = lifetime_choices},
    {.name = NULL},
};

int sessions_create(void *context, struct http_request *request, struct http_response *response,
                    struct error **err)
{
    struct api *api = context;
    const struct sandbox *sandbox = &api->access.sandbox;
    const char *lifetime = json_string_value(json_object_get(request->json, "lifetime"));
    json_t *session;
    if (!lifetime)
        lifetime = lifetime_choices[0];
    if (api_new_session(api, sandbox, lifetime, &session, err) < 0)
        return -1;
    return http_response_json(
        response, 201,
        json_pack("{s:s, s:s, s:o}", "id", sandbox->id, "lifetime", lifetime, "session", session));
}

int sessions_delete(void *context, struct http_request *request, struct http_response *response,
                    struct error **err)
{
    struct api *api = context;
    (void)request;
    if (sandbox_end_sessions(api->worker.db, api->access.sandbox.id, err) < 0)
        return -1;
    response->status = 204;
    return 0;
}
