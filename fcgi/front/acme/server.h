/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The sockets at which sandlot-acme is asked, UDP and TCP at each address of this machine. */
#pragma once

#include "base/loop.h"
#include "base/throttle.h"
#include "challenge/challenge.h"

#define SERVER_ADDRESSES_MAX 32

struct dns_clients;

struct server {
    const struct settings *settings; /* borrowed */
    struct challenge_names names;
    struct loop loop;
    struct loop_timer tick;
    struct throttle answers; /* over UDP, where anybody can name another's address as his own */
    struct listening {
        struct server *server;
        struct loop_source udp;
        struct dns_clients *tcp;
    } listenings[SERVER_ADDRESSES_MAX];
    unsigned count;
};

/* Listen at acme_addresses; empty: wherever this machine can be found, as far as nobody else
 * listens there. server_close() ends it, after a failure too. Errors: ERR_CONFIG, ERR_INTERNAL. */
int server_open(struct server *server, const struct settings *settings, struct error **err);
void server_close(struct server *server);

/* Answer for good; returns when the loop fails. */
void server_run(struct server *server);
