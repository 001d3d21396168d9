/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Connections of sandboxes to their resolver: messages with their length in front (RFC 1035,
 * 4.2.2), several on their way at once. Bounded per sandbox and in all. */
#pragma once

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/loop.h"

/* Where an answer goes. */
struct dns_reply_to {
    struct sockaddr_in udp;
    uint64_t tcp_serial; /* 0: over UDP */
};

struct dns_clients;

/* Takes the listening descriptor. may_connect(): whether a connection of that address (host byte
 * order) is wanted at all; question(): a message has come. NULL when it cannot be watched. */
struct dns_clients *dns_clients_open(struct loop *loop, int listen_fd,
                                     bool (*may_connect)(void *context, uint32_t address),
                                     void (*question)(void *context, uint32_t address,
                                                      uint64_t serial, const uint8_t *wire,
                                                      size_t size),
                                     void *context);
void dns_clients_close(struct dns_clients *clients); /* NULL is allowed */

/* Send a message on that connection, if it is still there. */
void dns_clients_send(struct dns_clients *clients, uint64_t serial, const uint8_t *wire,
                      size_t size);

void dns_clients_tick(struct dns_clients *clients, int64_t now_ms);
