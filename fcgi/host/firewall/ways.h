/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Ways from nginx to hosts of egress rules. Each is a socket of sandlot-firewall with a number, and
 * an upstream of nginx, which keeps connections there (outlet.h). A way belongs to one rule of one
 * sandbox, so no other rule or sandbox gets a kept connection. Other rules, secrets or another
 * egress proxy of this sandbox get other ways.
 *
 * Beyond its share of these ways, a team gets ways for one connection each. They hold a place only
 * from the decision about a request until nginx connects.
 */
#pragma once

#include <stdatomic.h>

#include "network/egress_rule.h"

#define WAY_REST_MS 30000 /* without a request or connection, until another rule may get it */

struct way {
    uint32_t sandbox; /* its address */
    uint64_t rules;   /* see filter_sandbox */
    size_t rule;      /* its place in the list */
    uint64_t tenant, user;
    int64_t used_at_ms; /* monotonic; 0: never */
};

struct ways {
    struct way all[EGRESS_WAYS_MAX];
    /* The outlet's thread counts connections, and notes when the last one of a way ended. */
    atomic_uint connections[EGRESS_WAYS_MAX];
    _Atomic int64_t ended_at_ms[EGRESS_WAYS_MAX];
};

/* Return the number of the way for this sandbox, rules and rule. Take a free way if they have none.
 * Return -1 if none is free, or if the team or user has its share of both kinds. */
int ways_take(struct ways *ways, const struct way *asked, int64_t now_ms);

/* Note that nginx has connected: a way for one connection is free again. */
void ways_connected(struct ways *ways, int number);

/* Note the end of a connection that was counted. The caller needs no lock. nginx may repeat its
 * request on a new connection at once, so the way stays with its rule for WAY_REST_MS. */
void ways_ended(struct ways *ways, int number, int64_t now_ms);
