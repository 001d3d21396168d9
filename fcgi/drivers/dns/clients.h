/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Serve DNS clients over TCP: messages after their length (RFC 1035, 4.2.2), several at once. The
 * connections are limited in total, and for each address (for IPv6, each network: see
 * base/client_network.h). When all places are taken, the address with the most connections loses
 * one. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "base/loop.h"

struct dns_clients;

/* The callbacks of the server; context is the argument of dns_clients_open(). */
struct dns_clients_calls {
    /* Return whether to accept a connection from this address. */
    bool (*may_connect)(void *context, const struct sockaddr_storage *from);
    /* Handle a message. serial: of the connection, for dns_clients_send(). */
    void (*question)(void *context, const struct sockaddr_storage *from, uint64_t serial,
                     const uint8_t *wire, size_t size);
};

/* Serve clients at a listening descriptor, which this call takes over. calls: borrowed. NULL: the
 * descriptor cannot be watched. */
struct dns_clients *dns_clients_open(struct loop *loop, int listen_fd,
                                     const struct dns_clients_calls *calls, void *context);
void dns_clients_close(struct dns_clients *clients); /* NULL is allowed */

/* Send a message on a connection. Does nothing if the connection was closed. */
void dns_clients_send(struct dns_clients *clients, uint64_t serial, const uint8_t *wire,
                      size_t size);

/* Close idle connections. Call this now and then. */
void dns_clients_tick(struct dns_clients *clients, int64_t now_ms);
