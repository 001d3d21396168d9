/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "api/sandbox_output.h"

#include "base/clock.h"
#include "base/mem.h"

json_t *time_to_json(int64_t at_ms)
{
    char text[CLOCK_ISO8601_SIZE];
    return at_ms ? json_string(clock_format_iso8601(at_ms, text)) : json_null();
}

json_t *text_to_json(const char *text)
{
    return *text ? json_string(text) : json_null();
}

static json_t *data_plane_url(const struct settings *settings, const struct sandbox *sandbox)
{
    return json_sprintf("https://%s.%s", sandbox->route, settings->data_plane_host);
}

static json_t *stored(const char *text)
{
    json_t *json = json_loads(text, 0, NULL);
    return json ? json : json_object();
}

json_t *network_to_json(const struct sandbox *sandbox)
{
    json_t *network = stored(sandbox->network);
    json_object_set_new(network, "allow_public_traffic",
                        json_boolean(sandbox->allow_public_traffic));
    const char *reason = sandbox_network_reason(sandbox);
    json_object_set_new(network, "status", json_string(sandbox_network_status(sandbox)));
    json_object_set_new(network, "status_reason", reason ? json_string(reason) : json_null());
    return network;
}

static const char *protocol_of(const struct exposed_port *port)
{
    return port->is_https ? "https" : "http";
}

static json_t *ports_to_json(const struct sandbox *sandbox)
{
    json_t *ports = json_array();
    for (unsigned i = 0; i < sandbox->port_count; i++)
        json_array_append_new(ports,
                              json_pack("{s:i, s:s, s:b}", "port", (int)sandbox->ports[i].port,
                                        "protocol", protocol_of(&sandbox->ports[i]), "public",
                                        (int)sandbox->ports[i].is_public));
    return ports;
}

json_t *sandbox_to_json(const struct settings *settings, const struct sandbox *s)
{
    json_t *json = json_pack(
        "{s:s, s:s, s:s, s:s, s:s, s:o, s:o, s:I, s:o, s:{s:s, s:b, s:b, s:s}, s:o, s:I, s:I, s:I, "
        "s:o, "
        "s:o, "
        "s:o,"
        " s:b, s:o, s:o, s:o, s:o, s:o, s:o}",
        "id", s->id, "team", s->team_slug, "state",
        sandbox_state_name(sandbox_state_told(s->state)), "template", s->template_slug,
        "template_version", s->template_version_id, "snapshot_id",
        text_to_json(*s->forked_from ? "" : s->snapshot_id), "forked_from",
        text_to_json(s->forked_from), "timeout", (json_int_t)s->timeout_s, "deadline",
        time_to_json(s->deadline_at_ms), "lifecycle", "on_timeout", on_timeout_name(s->on_timeout),
        "auto_resume", (int)s->auto_resume, "pause_memory", (int)s->pause_memory,
        "on_pause_failure", on_pause_failure_name(s->on_pause_failure), "volume_mounts",
        stored(s->volume_mounts), "cpu", (json_int_t)s->resources.cpu, "memory_mb",
        (json_int_t)s->resources.memory_mb, "disk_gb", (json_int_t)s->resources.disk_gb, "metadata",
        stored(s->metadata), "network", network_to_json(s), "exposed_ports", ports_to_json(s),
        "expose_all_ports", (int)s->all_ports, "mask_request_host", text_to_json(s->request_host),
        "data_plane_url", data_plane_url(settings, s), "created_at", time_to_json(s->created_at_ms),
        "updated_at", time_to_json(s->updated_at_ms), "stopped_at", time_to_json(s->stopped_at_ms),
        "resumed_from", text_to_json(s->resumed_from));
    if (s->cleanup_at_ms)
        json_object_set_new(json, "cleanup_at", time_to_json(s->cleanup_at_ms));
    return json;
}

json_t *session_to_json(const struct settings *settings, const struct sandbox *sandbox,
                        const struct session *session)
{
    return json_pack("{s:o, s:s, s:o}", "data_plane_url", data_plane_url(settings, sandbox),
                     "access_token", session->token, "expires_at",
                     time_to_json(session->expires_at_ms));
}

json_t *port_to_json(const struct settings *settings, const struct sandbox *sandbox,
                     const struct exposed_port *port, const char *gateway_status)
{
    autofree char *host =
        xasprintf("p%u-%s.%s", port->port, sandbox->route, settings->data_plane_host);
    return json_pack("{s:i, s:s, s:b, s:s, s:o, s:s}", "port", (int)port->port, "protocol",
                     protocol_of(port), "public", (int)port->is_public, "host", host, "url",
                     json_sprintf("https://%s", host), "gateway_status", gateway_status);
}
