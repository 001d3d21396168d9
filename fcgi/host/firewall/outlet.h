/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Carry TCP connections of sandboxes whose policy has an egress proxy through this proxy, and those
 * of nginx to hosts of egress rules.
 *
 * The packet filter decides about each packet by the policy, and then sends the connections here.
 * A thread of its own carries their bytes, so that names and policies do not wait for them. It
 * takes the filter's lock for each new connection, and once a second to end connections that the
 * policy no longer allows. A connection whose proxy fails is reset.
 *
 * nginx comes through a socket of its own for each way (ways.h). The firewall has decided about
 * each request there. It connects to the host of the rule, or to the egress proxy of the sandbox if
 * it has one. Connections of nginx stay when rules change, because an upload would end, but not
 * when the policy no longer allows their host, or has another proxy.
 */
#pragma once

#include "firewall/filter.h"

#define OUTLET_MAX         2048 /* connections at the same time */
#define OUTLET_TEAM_MAX    512  /* connections of one team, and of one user */
#define OUTLET_SANDBOX_MAX 256
#define OUTLET_KEPT        2       /* connections of nginx may be twice as many: it keeps some */
#define OUTLET_HELLO_MS    10000   /* until the proxy has opened a connection */
#define OUTLET_IDLE_MS     7440000 /* without a byte: as in the connection table */
#define OUTLET_BUFFER_MAX  32768   /* bytes that one end has not taken yet, in each direction */

struct outlet;

/* Listen, and start the thread. Errors: ERR_CONFIG. */
int outlet_start(struct filter *filter, struct outlet **outlet, struct error **err);
void outlet_stop(struct outlet *outlet); /* NULL is allowed */
