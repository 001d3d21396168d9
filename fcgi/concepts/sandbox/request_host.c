/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sandbox/request_host.h"

#include <stdio.h>
#include <string.h>

#include "base/str.h"

#define PLACEHOLDER "${PORT}"
#define NAME_CHARACTERS                                                \
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_" \
    "."

/* Insert the port. False: the result is too long. */
static bool fill_in(const char *host, uint16_t port, char text[SANDBOX_HOST_SIZE])
{
    const char *found = strstr(host, PLACEHOLDER);
    int size = found ? snprintf(text, SANDBOX_HOST_SIZE, "%.*s%u%s", (int)(found - host), host,
                                port, found + strlen(PLACEHOLDER))
                     : snprintf(text, SANDBOX_HOST_SIZE, "%s", host);
    return (size_t)size < SANDBOX_HOST_SIZE;
}

bool request_host_is_valid(const char *text)
{
    char host[SANDBOX_HOST_SIZE];
    uint64_t port;
    if (!fill_in(text, UINT16_MAX, host))
        return false;
    size_t name = strspn(host, NAME_CHARACTERS);
    return name && (!host[name] || (host[name] == ':' &&
                                    str_parse_u64(host + name + 1, 1, UINT16_MAX, &port) == 0));
}

const char *request_host_of(const struct sandbox *sandbox, uint16_t port,
                            char text[SANDBOX_HOST_SIZE])
{
    return fill_in(sandbox->request_host, port, text) ? text : "";
}
