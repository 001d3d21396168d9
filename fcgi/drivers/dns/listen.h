/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Open the sockets of a DNS server. */
#pragma once

#include <sys/socket.h>

#include "base/client_network.h"
#include "base/error.h"

/* Open a nonblocking socket of a type (SOCK_DGRAM, or SOCK_STREAM, which listens) at an address and
 * port. The host need not have the address yet. Returns the descriptor, which the caller closes, or
 * -1. Errors: ERR_CONFIG. */
int dns_listen(int type, const struct sockaddr_storage *address, struct error **err);

/* Write the address without its port, or "". Returns text. */
const char *dns_address_text(const struct sockaddr_storage *address,
                             char text[CLIENT_NETWORK_SIZE]);
