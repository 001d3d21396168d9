/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Access tokens of a sandbox. They change neither its deadline nor its state. */
#include "api/api.h"
#include "base/str.h"
#include "sandbox/sandbox_ports.h"
#include "sandbox/sandbox_sessions.h"

static const char *const lifetime_choices[] = {"session", LIFETIME_SANDBOX, NULL};
static const char *const purpose_choices[] = {"sandbox", PURPOSE_PREVIEWS, NULL};

const struct schema_member session_create_schema[] = {
    {.name = "lifetime", .type = SCHEMA_STRING, .choices = lifetime_choices},
    {.name = "purpose", .type = SCHEMA_STRING, .choices = purpose_choices},
    {.name = "port", .type = SCHEMA_INTEGER, .min = 1, .max = 65535},
    {.name = NULL},
};

/* Return the body with its defaults. */
static json_t *read_wish(const struct principal *principal, const json_t *body, struct error **err)
{
    json_t *port = json_object_get(body, "port");
    const char *lifetime = json_string_value(json_object_get(body, "lifetime"));
    const char *purpose = json_string_value(json_object_get(body, "purpose"));
    if (port && str_equal(purpose, purpose_choices[0]))
        error_set_field(err, ERR_INVALID_REQUEST, "/port",
                        "A token for one port is for its preview only; leave out purpose.");
    else if (port && sandbox_port_is_reserved((uint16_t)json_integer_value(port)))
        error_set_field(err, ERR_INVALID_REQUEST, "/port",
                        "Port %d is reserved and has no preview.", (int)json_integer_value(port));
    else if (*principal->login_id && str_equal(lifetime, LIFETIME_SANDBOX))
        error_set_field(err, ERR_INVALID_REQUEST, "/lifetime",
                        "A sign-in gets tokens that expire; use an API key for a lasting token.");
    else
        return json_pack("{s:s, s:s, s:O?}", "lifetime", lifetime ? lifetime : lifetime_choices[0],
                         "purpose", purpose ? purpose : purpose_choices[port ? 1 : 0], "port",
                         port);
    return NULL;
}

int sessions_create(void *context, struct http_request *request, struct http_response *response,
                    struct error **err)
{
    struct api *api = context;
    const struct sandbox *sandbox = &api->access.sandbox;
    json_auto_t *made = read_wish(&api->principal, request->json, err);
    json_t *session;
    if (!made || api_new_session(api, sandbox, made, &session, err) < 0)
        return -1;
    json_object_set_new(made, "id", json_string(sandbox->id));
    json_object_set_new(made, "session", session);
    return http_response_json(response, 201, json_incref(made));
}

int sessions_delete(void *context, struct http_request *request, struct http_response *response,
                    struct error **err)
{
    struct api *api = context;
    (void)request;
    if (sandbox_sessions_end(&api->worker, api->access.sandbox.id, err) < 0)
        return -1;
    response->status = 204;
    return 0;
}
