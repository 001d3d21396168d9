/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Asking the upstream resolvers: over UDP, over TCP what was truncated, one upstream after the
 * other. A socket and with it a random port for each question, a random id, and an answer counts
 * only when it comes from there and repeats both. Same questions at the same time are asked once.
 */
#pragma once

#include <stdbool.h>

#include "base/error.h"
#include "base/loop.h"
#include "dns/message.h"

/* At the same time: for tenants together, and names that policies deny besides. When they are
 * full, the tenant with most of them gives up its oldest one. */
#define RESOLVER_LOOKUPS_MAX   1024
#define RESOLVER_DENIED_MAX    512
#define RESOLVER_DENIED        0 /* the tenant of names that policies deny */
#define RESOLVER_UPSTREAMS_MAX 8

struct resolver;

/* result: borrowed; NULL when no upstream answered. left_ms: how long it holds. */
typedef void resolver_done(void *context, const struct dns_result *result, int64_t left_ms);

/* upstreams: addresses separated by commas or blanks, each with an optional port
 * ("192.0.2.1", "192.0.2.1:5353", "[2001:db8::1]:53"); "": those of /etc/resolv.conf, read again
 * as it changes. Errors: ERR_CONFIG. */
int resolver_open(struct loop *loop, const char *upstreams, struct resolver **resolver,
                  struct error **err);
void resolver_close(struct resolver *resolver); /* nobody is called back; NULL is allowed */

/* Whether the answer is known, so that nothing need be asked. */
bool resolver_knows(struct resolver *resolver, const char *name, uint16_t type);

/* A name of a type, and the tenant (a number that stands for it) whose lookup it is if it is asked
 * first. */
struct resolver_question {
    const char *name;
    uint16_t type;
    uint64_t tenant;
};

/* Call back with the answer, at once when it is known. context must live until then. Returns 0, or
 * -1 when no room is left and no tenant has more lookups than this one; done() is not called
 * then. */
int resolver_ask(struct resolver *resolver, const struct resolver_question *question,
                 resolver_done *done, void *context);

/* Whether it waits for any answer. */
bool resolver_is_asking(const struct resolver *resolver);

/* Give up on what takes too long; to be called every now and then. */
void resolver_tick(struct resolver *resolver, int64_t now_ms);
