/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "api/api.h"
#include "api/sandbox_input.h"
#include "api/sandbox_output.h"
#include "base/mem.h"
#include "base/str.h"
#include "sandbox/sandbox_ports.h"

/* Ask the agent whether a server listens on the port now. */
static int gateway_status(struct api *api, const struct sandbox *sandbox,
                          const struct exposed_port *port, struct deadline until,
                          const char **status, struct error **err)
{
    char secret[AGENT_SECRET_SIZE];
    struct worker *worker = &api->worker;
    struct agent_place at;
    enum agent_listener listener = AGENT_LISTENER_NONE;
    /* A private port is open to tokens of the sandbox even then. */
    if (!sandbox->allow_public_traffic && port->is_public) {
        *status = "blocked";
        return 0;
    }
    if (runtimes_agent(worker->runtimes, worker->db, sandbox->host_id, sandbox->address, &at, err) <
            0 ||
        agent_secret(worker->ring, sandbox->instance_name, sandbox->agent_key_id, secret, err) < 0)
        return -1;
    int result = agent_port_listener(&at, secret, port->port, until, &listener, err);
    mem_wipe(secret, sizeof secret);
    *status = listener == AGENT_LISTENER_NONE                         ? "no_listener"
              : port->is_https && listener == AGENT_LISTENER_LOOPBACK ? "loopback_only"
                                                                      : "ready";
    return result;
}

static int check_ready(const struct sandbox *sandbox, struct error **err)
{
    return sandbox_state_require_running(sandbox->state, "; you can see its ports while it runs",
                                         err);
}

/* Read the port in the path. Returns false when it is not a port number. */
static bool parse_port(const struct http_request *request, uint16_t *port)
{
    uint64_t number;
    if (str_parse_u64(request->captures[1], 1, 65535, &number) < 0)
        return false;
    *port = (uint16_t)number;
    return true;
}

int ports_show(void *context, struct http_request *request, struct http_response *response,
               struct error **err)
{
    struct api *api = context;
    const struct sandbox *sandbox = &api->access.sandbox;
    const char *status;
    uint16_t number = 0;
    if (check_ready(sandbox, err) < 0)
        return -1;
    const struct exposed_port *port = NULL;
    struct exposed_port any = {.is_public = true};
    if (parse_port(request, &number))
        port = sandbox_port(sandbox, number);
    if (!port && number && sandbox->all_ports && !sandbox_port_is_reserved(number)) {
        any.port = number;
        port = &any;
    }
    if (!port)
        return error_set(err, ERR_NOT_FOUND, "The sandbox does not expose this port.");
    if (gateway_status(api, sandbox, port, deadline_in_ms(AGENT_WAIT_MS), &status, err) < 0)
        return -1;
    return http_response_json(response, 200, port_to_json(api->settings, sandbox, port, status));
}

int ports_list(void *context, struct http_request *request, struct http_response *response,
               struct error **err)
{
    struct api *api = context;
    const struct sandbox *sandbox = &api->access.sandbox;
    (void)request;
    if (check_ready(sandbox, err) < 0)
        return -1;
    json_auto_t *ports = json_array();
    struct deadline until = deadline_in_ms(AGENT_WAIT_MS); /* one deadline for all ports */
    for (unsigned i = 0; i < sandbox->port_count; i++) {
        const struct exposed_port *port = &sandbox->ports[i];
        const char *status;
        if (gateway_status(api, sandbox, port, until, &status, err) < 0)
            return -1;
        json_array_append_new(ports, port_to_json(api->settings, sandbox, port, status));
    }
    return http_response_json(response, 200, json_pack("{s:O}", "ports", ports));
}

int ports_put(void *context, struct http_request *request, struct http_response *response,
              struct error **err)
{
    struct api *api = context;
    const struct sandbox *sandbox = &api->access.sandbox;
    sandbox_auto changed = {0};
    struct exposed_port port = exposed_port_of(request->json);
    const char *status;
    if (check_ready(sandbox, err) < 0)
        return -1;
    if (!parse_port(request, &port.port))
        return error_set_field(err, ERR_INVALID_REQUEST, "port",
                               "A port must be a number from 1 to 65535.");
    if (sandbox_port_is_reserved(port.port))
        return error_set_field(err, ERR_INVALID_REQUEST, "port",
                               "Port %u is reserved and cannot be exposed.", port.port);
    if (sandbox_port_put(&api->worker, sandbox->id, port, &changed, err) < 0)
        return -1;
    if (gateway_status(api, &changed, &port, deadline_in_ms(AGENT_WAIT_MS), &status, err) < 0)
        return -1;
    return http_response_json(response, 200, port_to_json(api->settings, &changed, &port, status));
}

int ports_delete(void *context, struct http_request *request, struct http_response *response,
                 struct error **err)
{
    struct api *api = context;
    const struct sandbox *sandbox = &api->access.sandbox;
    uint16_t port;
    if (check_ready(sandbox, err) < 0)
        return -1;
    if (!parse_port(request, &port))
        return error_set(err, ERR_NOT_FOUND, "The sandbox does not expose this port.");
    if (sandbox_port_delete(&api->worker, sandbox->id, port, err) < 0)
        return -1;
    response->status = 204;
    return 0;
}
