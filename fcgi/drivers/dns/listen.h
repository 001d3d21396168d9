/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sockets that a DNS server is asked at. */
#pragma once

#include <sys/socket.h>

#include "base/client_network.h"
#include "base/error.h"

/* Open a socket of a type (SOCK_DGRAM, or SOCK_STREAM, which listens) at an address, which need not
 * exist yet. The caller closes it. Errors: ERR_CONFIG. */
int dns_listen(int type, const struct sockaddr_storage *address, struct error **err);

/* Return the address without its port. Returns text. */
const char *dns_address_text(const struct sockaddr_storage *address,
                             char text[CLIENT_NETWORK_SIZE]);
