/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sockets that a DNS server is asked at. */
#pragma once

#include <sys/socket.h>

#include "base/client_network.h"
#include "base/error.h"

/* A socket of that type (SOCK_DGRAM, or SOCK_STREAM, which listens) at an address, which need not
 * be there yet. The caller closes it. Errors: ERR_CONFIG. */
int dns_listen(int type, const struct sockaddr_storage *address, struct error **err);

/* The address without its port. Returns text. */
const char *dns_address_text(const struct sockaddr_storage *address,
                             char text[CLIENT_NETWORK_SIZE]);

/* What bind() and sendto() are told of its size. */
socklen_t dns_address_size(const struct sockaddr_storage *address);
