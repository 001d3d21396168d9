/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sandbox/sandbox_ports.h"

#include <stdio.h>
#include <string.h>

#include "runtime/agent_client.h"

#define SSH_PORT 22

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
