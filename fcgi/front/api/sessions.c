/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Access tokens of a sandbox by themselves: its deadline and its state stay as they are. */
#include "api/api.h"
#include "api/sandbox_output.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
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

/* Until then nginx may let in by an answer of the gate that it keeps. */
#define KEPT_ANSWER_MS 1100

/* Open streams of the data plane are connections to the agent: it disconnects them. A sandbox that
 * does not run has none. */
static void disconnect(struct api *api)
{
    const struct sandbox *sandbox = &api->access.sandbox;
    struct worker *worker = &api->worker;
    char secret[AGENT_SECRET_SIZE];
    struct agent_place at;
    error_auto err = NULL;
    if (sandbox->state != SANDBOX_READY)
        return;
    clock_sleep_ms(KEPT_ANSWER_MS);
    if (runtimes_agent(worker->runtimes, worker->db, sandbox->host_id, sandbox->address, &at,
                       &err) < 0 ||
        agent_secret(worker->ring, sandbox->instance_name, sandbox->agent_key_id, secret, &err) <
            0 ||
        agent_hang_up(&at, secret, &err) < 0)
        log_warning("cannot disconnect open streams after the end of all sessions",
                    LOG_STR("sandbox", sandbox->id), LOG_ERROR(err));
    mem_wipe(secret, sizeof secret);
}

int sessions_delete(void *context, struct http_request *request, struct http_response *response,
                    struct error **err)
{
    struct api *api = context;
    (void)request;
    if (sandbox_end_sessions(api->worker.db, api->access.sandbox.id, err) < 0)
        return -1;
    disconnect(api);
    response->status = 204;
    return 0;
}
