/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sandbox/sandbox_ports.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "sandbox/lifecycle.h"
#include "template/template.h"

#define SSH_PORT   22
#define HTTPS_PORT 443

enum { PORT_PUBLIC = 1, PORT_HTTPS = 2 };

bool sandbox_port_is_reserved(uint16_t port)
{
    return port == SSH_PORT || port == AGENT_PORT || port == AGENT_RELAY_PORT;
}

const struct exposed_port *sandbox_port(const struct sandbox *sandbox, uint16_t port)
{
    for (unsigned i = 0; i < sandbox->port_count; i++)
        if (sandbox->ports[i].port == port)
            return &sandbox->ports[i];
    return NULL;
}

/* Return the port's index, or the index at which it belongs. */
static unsigned place_of(const struct sandbox *sandbox, uint16_t port)
{
    unsigned place = 0;
    while (place < sandbox->port_count && sandbox->ports[place].port < port)
        place++;
    return place;
}

bool sandbox_port_add(struct sandbox *sandbox, struct exposed_port port)
{
    unsigned place = place_of(sandbox, port.port);
    struct exposed_port *ports = sandbox->ports;
    if (place == sandbox->port_count || ports[place].port != port.port) {
        if (sandbox->port_count == SANDBOX_PORTS_MAX)
            return false;
        memmove(&ports[place + 1], &ports[place], (sandbox->port_count++ - place) * sizeof *ports);
    }
    ports[place] = port;
    return true;
}

/* Read "80", "80/tcp" or "8000-8010/tcp". False: it has another form. */
static bool read_range(const char *text, uint64_t *first, uint64_t *last)
{
    const char *protocol = text + strcspn(text, "/");
    autofree char *ports = xstrndup(text, (size_t)(protocol - text));
    char *hyphen = strchr(ports, '-');
    if (*protocol && !str_equal(protocol, "/tcp"))
        return false;
    if (hyphen)
        *hyphen = '\0';
    return str_parse_u64(ports, 1, UINT16_MAX, first) == 0 &&
           str_parse_u64(hyphen ? hyphen + 1 : ports, 1, UINT16_MAX, last) == 0;
}

void sandbox_ports_of_image(const json_t *list, unsigned most, struct sandbox *sandbox)
{
    size_t at;
    json_t *entry;
    json_array_foreach ((json_t *)(uintptr_t)list, at, entry) {
        uint64_t first, last;
        if (!json_is_string(entry) || !read_range(json_string_value(entry), &first, &last))
            continue;
        for (; first <= last && sandbox->port_count < most; first++)
            if (!sandbox_port_is_reserved((uint16_t)first))
                sandbox_port_add(
                    sandbox, (struct exposed_port){(uint16_t)first, false, first == HTTPS_PORT});
    }
}

int sandbox_ports_take(struct worker *worker, const struct sandbox_create *request,
                       struct sandbox *sandbox, struct error **err)
{
    json_auto_t *config = NULL;
    for (unsigned i = 0; i < request->port_count; i++)
        sandbox_port_add(sandbox, request->ports[i]);
    if (!request->image_ports)
        return 0;
    if (template_version_image(worker->db, sandbox->template_version_id, &config, err) < 0)
        return -1;
    sandbox_ports_of_image(json_object_get(config, "exposed_ports"),
                           (unsigned)worker->settings->sandbox_ports_max, sandbox);
    return 0;
}

int sandbox_too_many_ports(const char *field, unsigned ports_max, struct error **err)
{
    return error_set_field(err, ERR_INVALID_REQUEST, field,
                           "A sandbox of this deployment can expose at most %u ports by number. To "
                           "expose every port, set exposed_ports = \"all\".",
                           ports_max);
}

bool sandbox_port_remove(struct sandbox *sandbox, uint16_t port)
{
    unsigned place = place_of(sandbox, port);
    struct exposed_port *ports = sandbox->ports;
    if (place == sandbox->port_count || ports[place].port != port)
        return false;
    memmove(&ports[place], &ports[place + 1], (--sandbox->port_count - place) * sizeof *ports);
    return true;
}

const char *sandbox_ports_to_text(const struct sandbox *sandbox, char text[SANDBOX_PORTS_TEXT_SIZE])
{
    size_t used = 0;
    text[0] = '\0';
    for (unsigned i = 0; i < sandbox->port_count; i++)
        used += (size_t)snprintf(text + used, SANDBOX_PORTS_TEXT_SIZE - used, "%s%u/%d",
                                 i ? "," : "", sandbox->ports[i].port,
                                 (sandbox->ports[i].is_public ? PORT_PUBLIC : 0) |
                                     (sandbox->ports[i].is_https ? PORT_HTTPS : 0));
    return text;
}

void sandbox_ports_of_text(const char *text, struct sandbox *sandbox)
{
    unsigned port, flags;
    int used;
    while (*text && sandbox->port_count < SANDBOX_PORTS_MAX &&
           sscanf(text, "%u/%u%n", &port, &flags, &used) == 2) {
        sandbox->ports[sandbox->port_count++] =
            (struct exposed_port){(uint16_t)port, flags & PORT_PUBLIC, flags & PORT_HTTPS};
        text += used;
        text += *text == ',';
    }
}
