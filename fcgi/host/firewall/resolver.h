/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Ask upstream resolvers: over UDP, over TCP after a truncated answer, one upstream after another.
 *
 * Each question has its own socket, with a random port, and a random id. An answer counts only when
 * it comes from the upstream and repeats both. Equal questions at the same time are asked once.
 */
#pragma once

#include <stdbool.h>

#include "base/error.h"
#include "base/loop.h"
#include "dns/message.h"

/* Lookups at the same time: of all tenants, and of denied names. When all places are taken, the
 * tenant with the most lookups loses its oldest one. */
#define RESOLVER_LOOKUPS_MAX   1024
#define RESOLVER_DENIED_MAX    512
#define RESOLVER_DENIED        0 /* the tenant of denied names */
#define RESOLVER_UPSTREAMS_MAX 8

struct resolver;

/* Receive an answer. result: borrowed; NULL: no upstream answered. left_ms: the rest of its time to
 * live. */
typedef void resolver_done(void *context, const struct dns_result *result, int64_t left_ms);

/* Open a resolver. upstreams: addresses separated by commas or blanks, each with an optional port
 * ("192.0.2.1", "192.0.2.1:5353", "[2001:db8::1]:53"). "": those of /etc/resolv.conf, which is read
 * again after each change. Errors: ERR_CONFIG. */
int resolver_open(struct loop *loop, const char *upstreams, struct resolver **resolver,
                  struct error **err);
void resolver_close(struct resolver *resolver); /* without calls of done(); NULL is allowed */

/* Return whether the answer is in the cache. */
bool resolver_knows(struct resolver *resolver, const char *name, uint16_t type);

/* A name and a type. tenant: a number; the first tenant that asks is charged with the lookup. */
struct resolver_question {
    const char *name;
    uint16_t type;
    uint64_t tenant;
};

/* Ask, and call done() with the answer, at once if it is in the cache. context must live until
 * then. Returns 0, or -1, without a call of done(), when all places are taken and no tenant has
 * more lookups than this one. */
int resolver_ask(struct resolver *resolver, const struct resolver_question *question,
                 resolver_done *done, void *context);

/* Return whether the resolver waits for any answer. */
bool resolver_is_asking(const struct resolver *resolver);

/* End attempts that take too long. Call this now and then. */
void resolver_tick(struct resolver *resolver, int64_t now_ms);
