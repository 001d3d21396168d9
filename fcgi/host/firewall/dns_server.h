/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Resolve names for sandboxes.
 *
 * The server listens on UDP and TCP at 169.254.0.1, to which the packet filter redirects questions.
 * The source address identifies the sandbox: the packet filter drops all others on the sandbox's
 * link. The firewall's lock must be held for all calls.
 *
 * A question for a name that the policy denies is refused and not forwarded, so that it carries no
 * data out. Only IPv4 addresses are answered (A). AAAA is empty, because sandboxes have no IPv6.
 * SVCB and HTTPS are empty, because they carry addresses. Other types are answered only if the
 * policy allows by default.
 */
#pragma once

#include "firewall/filter.h"
#include "firewall/resolver.h"

struct dns_server;

/* Start to listen. Errors: ERR_CONFIG. */
int dns_server_open(struct filter *filter, struct loop *loop, struct resolver *resolver,
                    struct dns_server **server, struct error **err);
void dns_server_close(struct dns_server *server); /* before the resolver; NULL is allowed */

/* Close idle connections. Call this now and then. */
void dns_server_tick(struct dns_server *server, int64_t now_ms);
