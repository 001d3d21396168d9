/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The resolver of the sandboxes: UDP and TCP at 169.254.0.1, where the packet filter sends their
 * questions. The source address tells the sandbox; the packet filter has dropped those that are
 * not the link's own. Called with the firewall's lock held.
 *
 * What the policy does not let a sandbox reach is refused and asked of nobody, so that no question
 * carries anything out. Only addresses are answered (A): AAAA is empty, since sandboxes have no
 * IPv6; SVCB and HTTPS are empty, since they carry addresses; the rest is answered only where the
 * policy's default allows.
 */
#pragma once

#include "firewall/filter.h"
#include "firewall/resolver.h"

struct dns_server;

/* Errors: ERR_CONFIG. */
int dns_server_open(struct filter *filter, struct loop *loop, struct resolver *resolver,
                    struct dns_server **server, struct error **err);
void dns_server_close(struct dns_server *server); /* before the resolver; NULL is allowed */

/* Close idle connections; to be called every now and then. */
void dns_server_tick(struct dns_server *server, int64_t now_ms);
