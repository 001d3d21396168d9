/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The services of a running sandbox, from its agent. The owner of a sandbox can replace the agent,
 * so each value is checked. */
#include "service/service.h"

#include "api/api.h"
#include "api/sandbox_output.h"
#include "base/guest_limits.h"
#include "base/mem.h"
#include "base/str.h"

/* Those of the template, with its start command, and those of the create. */
#define SERVICES_MOST (2 * SERVICES_MAX + 1)

#define TIME_END_MS   253402300800000 /* the year 10000 */

static int find_agent(struct api *api, struct agent_place *at, char secret[AGENT_SECRET_SIZE],
                      struct error **err)
{
    const struct sandbox *sandbox = &api->access.sandbox;
    struct worker *worker = &api->worker;
    if (sandbox_state_require_running(sandbox->state, "; you can see its services while it runs",
                                      err) < 0 ||
        runtimes_agent(worker->runtimes, worker->db, sandbox->host_id, sandbox->address, at, err) <
            0)
        return -1;
    return agent_secret(worker->ring, sandbox->instance_name, sandbox->agent_key_id, secret, err);
}

static bool is_word(const char *const words[], const char *word)
{
    while (*words && !str_equal(*words, word))
        words++;
    return *words;
}

/* Read a member of an agent's answer: a value of this type, or null. */
static bool is_or_null(const json_t *value, json_type type)
{
    return json_is_null(value) || (value && json_typeof(value) == type);
}

static json_t *time_of(const json_t *at_ms)
{
    json_int_t ms = json_integer_value(at_ms);
    return ms > 0 && ms < TIME_END_MS ? time_to_json(ms) : json_null();
}

static int service_from(const json_t *told, json_t **service, struct error **err)
{
    static const struct {
        const char *name;
        json_type type;
    } plain[] = {{"user", JSON_STRING},   {"cwd", JSON_STRING},        {"pid", JSON_INTEGER},
                 {"health", JSON_STRING}, {"exit_code", JSON_INTEGER}, {"reason", JSON_STRING}};
    const char *name, *command, *restart, *state;
    json_int_t restarts;
    int fits = json_unpack((json_t *)told, "{s:s, s:s, s:s, s:s, s:I}", "name", &name, "command",
                           &command, "restart", &restart, "state", &state, "restarts", &restarts);
    for (size_t i = 0; fits == 0 && i < ARRAY_SIZE(plain); i++)
        if (!is_or_null(json_object_get(told, plain[i].name), plain[i].type))
            fits = -1;
    const char *health = json_string_value(json_object_get(told, "health"));
    if (fits < 0 || !str_is_name(name, SERVICE_NAME_MAX) || !is_word(service_restarts, restart) ||
        !is_word(service_states, state) || (health && !is_word(service_healths, health)))
        return error_set(err, ERR_RUNTIME_FAILED,
                         "The answer of the sandbox's agent has a malformed service.");
    *service = json_pack("{s:s, s:s, s:s, s:s, s:I}", "name", name, "command", command, "restart",
                         restart, "state", state, "restarts", restarts);
    for (size_t i = 0; i < ARRAY_SIZE(plain); i++)
        json_object_set(*service, plain[i].name, json_object_get(told, plain[i].name));
    json_object_set_new(*service, "started_at", time_of(json_object_get(told, "started_at_ms")));
    json_object_set_new(*service, "ended_at", time_of(json_object_get(told, "ended_at_ms")));
    json_object_set_new(*service, "next_start_at",
                        time_of(json_object_get(told, "next_start_at_ms")));
    return 0;
}

static int ask(struct api *api, json_t **told, struct error **err)
{
    char secret[AGENT_SECRET_SIZE];
    struct agent_place at;
    if (find_agent(api, &at, secret, err) < 0)
        return -1;
    int result = agent_services(&at, secret, deadline_in_ms(AGENT_WAIT_MS), told, err);
    mem_wipe(secret, sizeof secret);
    return result;
}

int services_list(void *context, struct http_request *request, struct http_response *response,
                  struct error **err)
{
    json_auto_t *told = NULL;
    json_auto_t *list = json_array();
    (void)request;
    if (ask(context, &told, err) < 0)
        return -1;
    for (size_t i = 0; i < json_array_size(told) && i < SERVICES_MOST; i++) {
        json_t *service = NULL;
        if (service_from(json_array_get(told, i), &service, err) < 0)
            return -1;
        json_array_append_new(list, service);
    }
    return http_response_json(response, 200, json_pack("{s:O}", "services", list));
}

int services_restart(void *context, struct http_request *request, struct http_response *response,
                     struct error **err)
{
    const char *name = request->captures[1];
    char secret[AGENT_SECRET_SIZE];
    struct agent_place at;
    if (!str_is_name(name, SERVICE_NAME_MAX))
        return error_set(err, ERR_NOT_FOUND, "The sandbox has no service with this name.");
    if (find_agent(context, &at, secret, err) < 0)
        return -1;
    int result = agent_service_restart(&at, secret, name, deadline_in_ms(AGENT_WAIT_MS), err);
    mem_wipe(secret, sizeof secret);
    response->status = 204;
    return result;
}
