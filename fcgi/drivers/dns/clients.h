/* SPDX-License-Identifier: GPL-2.0-or-later */
/* TCP connections of DNS clients: messages with their length in front (RFC 1035, 4.2.2), several on
 * their way at once. Bounded per address (a network of IPv6, see base/client_network.h) and in
 * all. When all places are taken, the address with the most connections loses one. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "base/loop.h"

struct dns_clients;

/* The callbacks of the server; context is the argument of dns_clients_open(). */
struct dns_clients_calls {
    /* Whether a connection from there is wanted at all. */
    bool (*may_connect)(void *context, const struct sockaddr_storage *from);
    /* A message has come. */
    void (*question)(void *context, const struct sockaddr_storage *from, uint64_t serial,
                     const uint8_t *wire, size_t size);
};

/* Serve clients at the listening descriptor, which is taken over. calls: borrowed. NULL when it
 * cannot be watched. */
struct dns_clients *dns_clients_open(struct loop *loop, int listen_fd,
                                     const struct dns_clients_calls *calls, void *context);
void dns_clients_close(struct dns_clients *clients); /* NULL is allowed */

/* Send a message on that connection, if it is still there. */
void dns_clients_send(struct dns_clients *clients, uint64_t serial, const uint8_t *wire,
                      size_t size);

void dns_clients_tick(struct dns_clients *clients, int64_t now_ms);
