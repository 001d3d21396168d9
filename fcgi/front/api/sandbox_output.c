/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "api/sandbox_output.h"

#include "base/json_text.h"
#include "base/mem.h"
#include "http/http.h"
#include "template/template.h"

json_t *text_to_json(const char *text)
{
    return *text ? json_string(text) : json_null();
}

static json_t *data_plane_url(const struct settings *settings, const struct sandbox *sandbox)
{
    return json_sprintf("https://%s.%s", sandbox->route, settings->data_plane_host);
}

static const char *protocol_of(const struct exposed_port *port)
{
    return port->is_https ? "https" : "http";
}

/* Members from the rows of sandbox_fields.def. */
#define WRITE_BOOL(in, b, member, json, request, answer, ...) \
    in##_##answer(json_text_bool(out, json, s->member);)
#define WRITE_CHOICE(in, b, member, json, request, answer, ...) \
    in##_##answer(json_text_string(out, json, member##_name(s->member));)
#define WRITE_TEXT(in, b, member, json, request, answer, ...) \
    in##_##answer(json_text_string_or_null(out, json, s->member);)
#define WRITE_NUMBER(in, b, member, json, request, answer, ...) \
    in##_##answer(write_number_or_null(out, json, s->member);)
#define WRITE_FIELDS(in) SANDBOX_FIELDS(WRITE_BOOL, WRITE_CHOICE, WRITE_TEXT, WRITE_NUMBER, in, )

static void write_number_or_null(struct buffer *out, const char *name, uint32_t number)
{
    if (number)
        json_text_number(out, name, number);
    else
        json_text_string_or_null(out, name, "");
}

/* Write the stored policy with its status. The stored text is an object that sandlot wrote, without
 * these members. */
static void write_network(struct buffer *out, const char *name, const struct sandbox *s)
{
    json_text_object(out, name, s->network);
    out->size -= out->size && !out->overflowed;
    WRITE_FIELDS(IN_NETWORK)
    json_text_string(out, "status", sandbox_network_status(s));
    const char *reason = sandbox_network_reason(s);
    json_text_string_or_null(out, "status_reason", reason ? reason : "");
    buffer_append_char(out, '}');
}

static json_t *parsed(const struct buffer *text)
{
    json_t *json = json_loadb(buffer_string(text), text->size, 0, NULL);
    return json ? json : json_object();
}

json_t *network_to_json(const struct sandbox *sandbox)
{
    buffer_auto text = BUFFER_INIT(HTTP_RESPONSE_BYTES_MAX);
    write_network(&text, "", sandbox);
    return parsed(&text);
}

static void write_ports(struct buffer *out, const struct sandbox *sandbox)
{
    json_text_name(out, "exposed_ports");
    buffer_append_char(out, '[');
    for (unsigned i = 0; i < sandbox->port_count; i++) {
        json_text_name(out, "");
        buffer_append_char(out, '{');
        json_text_number(out, "port", sandbox->ports[i].port);
        json_text_string(out, "protocol", protocol_of(&sandbox->ports[i]));
        json_text_bool(out, "public", sandbox->ports[i].is_public);
        buffer_append_char(out, '}');
    }
    buffer_append_char(out, ']');
}

static void write_lifecycle(struct buffer *out, const struct sandbox *s)
{
    json_text_name(out, "lifecycle");
    buffer_append_char(out, '{');
    WRITE_FIELDS(IN_LIFECYCLE)
    buffer_append_char(out, '}');
}

static void write_data_plane_url(struct buffer *out, const struct settings *settings,
                                 const struct sandbox *sandbox)
{
    json_text_name(out, "data_plane_url");
    buffer_append_string(out, "\"https://");
    buffer_append_string(out, sandbox->route);
    buffer_append_char(out, '.');
    buffer_append_string(out, settings->data_plane_host);
    buffer_append_char(out, '"');
}

void sandbox_write(const struct settings *settings, const struct sandbox *s, struct buffer *out)
{
    buffer_append_char(out, '{');
    WRITE_FIELDS(IN_TOP)
    json_text_string(out, "id", s->id);
    json_text_string(out, "team", s->team_slug);
    json_text_string(out, "state", sandbox_state_name(sandbox_state_told(s->state)));
    json_text_string(out, "template", s->template_slug);
    json_text_string(out, "template_version", s->template_version_id);
    json_text_string(out, "isolation", template_isolation(s->virtual_machine));
    json_text_string_or_null(out, "snapshot_id", *s->forked_from ? "" : s->snapshot_id);
    json_text_string_or_null(out, "forked_from", s->forked_from);
    json_text_number(out, "timeout", s->timeout_s);
    json_text_time(out, "deadline", s->deadline_at_ms);
    json_text_time(out, "hold_until", s->hold_until_ms);
    write_lifecycle(out, s);
    json_text_object(out, "volume_mounts", s->volume_mounts);
    json_text_object(out, "hooks", s->hooks);
    json_text_number(out, "cpu", s->resources.cpu);
    json_text_number(out, "memory_mb", s->resources.memory_mb);
    json_text_number(out, "disk_gb", s->resources.disk_gb);
    json_text_object(out, "metadata", s->metadata);
    write_network(out, "network", s);
    write_ports(out, s);
    WRITE_FIELDS(IN_BODY)
    write_data_plane_url(out, settings, s);
    json_text_time(out, "created_at", s->created_at_ms);
    json_text_time(out, "updated_at", s->updated_at_ms);
    json_text_time(out, "stopped_at", s->stopped_at_ms);
    json_text_string_or_null(out, "reason", s->stop_reason);
    json_text_string_or_null(out, "resumed_from", s->resumed_from);
    json_text_time(out, "silent_since", s->silent_since_ms);
    if (s->cleanup_at_ms)
        json_text_time(out, "cleanup_at", s->cleanup_at_ms);
    buffer_append_char(out, '}');
}

json_t *sandbox_to_json(const struct settings *settings, const struct sandbox *sandbox)
{
    buffer_auto text = BUFFER_INIT(HTTP_RESPONSE_BYTES_MAX);
    sandbox_write(settings, sandbox, &text);
    return parsed(&text);
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
