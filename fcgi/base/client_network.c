/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/client_network.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

_Static_assert(CLIENT_NETWORK_SIZE == INET6_ADDRSTRLEN, "every address fits");

static const char *network_of(const char *address, unsigned prefix_bytes,
                              char out[CLIENT_NETWORK_SIZE])
{
    struct in6_addr v6;
    snprintf(out, CLIENT_NETWORK_SIZE, "%s", address);
    if (inet_pton(AF_INET6, address, &v6) != 1)
        return out;
    if (IN6_IS_ADDR_V4MAPPED(&v6)) {
        inet_ntop(AF_INET, v6.s6_addr + 12, out, CLIENT_NETWORK_SIZE);
        return out;
    }
    memset(v6.s6_addr + prefix_bytes, 0, 16 - prefix_bytes);
    inet_ntop(AF_INET6, &v6, out, CLIENT_NETWORK_SIZE);
    return out;
}

const char *client_network(const char *address, char out[CLIENT_NETWORK_SIZE])
{
    return network_of(address, 8, out);
}

const char *client_network_wide(const char *address, char out[CLIENT_NETWORK_SIZE])
{
    return network_of(address, 6, out);
}
