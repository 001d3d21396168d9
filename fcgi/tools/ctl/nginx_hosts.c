/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "ctl/nginx_hosts.h"

#include <string.h>

#include "base/buffer.h"

#define TEXT_MAX ((size_t)8 << 20)

static const char head[] =
    "# The relays of the hosts, rendered by `sandlotctl nginx-config` from their rows.\n"
    "\n"
    "map $sandlot_upgrade $sandlot_relay_connection {\n"
    "    default   \"\";\n"
    "    websocket upgrade;\n"
    "}\n"
    "# A host that is not here yet is reached too, without kept connections.\n"
    "map $sandlot_through $sandlot_relay {\n"
    "    default $sandlot_through;\n";

static void append_upstream(const struct host *host, struct buffer *text)
{
    buffer_printf(text,
                  "\nupstream sandlot_host_%u {\n"
                  "    # host %s\n"
                  "    server %s max_fails=0;\n"
                  "    keepalive 32;\n"
                  "    keepalive_requests 1000000;\n"
                  "}\n",
                  host->id, host->name, host->relay_url + strlen("https://"));
}

char *nginx_hosts_text(const struct host *hosts, unsigned count)
{
    buffer_auto text = BUFFER_INIT(TEXT_MAX);
    buffer_append_string(&text, head);
    for (unsigned i = 0; i < count; i++)
        if (hosts[i].relay_url)
            buffer_printf(&text, "    \"%s\" https://sandlot_host_%u;\n", hosts[i].relay_url,
                          hosts[i].id);
    buffer_append_string(&text, "}\n");
    for (unsigned i = 0; i < count; i++)
        if (hosts[i].relay_url)
            append_upstream(&hosts[i], &text);
    return buffer_steal(&text);
}
