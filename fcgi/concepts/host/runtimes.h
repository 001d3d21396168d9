/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The connections of one worker process to the runtime hosts, opened when first needed. */
#pragma once

#include "config/settings.h"
#include "host/host.h"
#include "runtime/agent_client.h"
#include "runtime/runtime.h"

struct firewall;
struct runtimes;

/* Opens the connection to a host, as runtime_incus_open() does. */
typedef int runtimes_opener(const struct runtime_host *host, struct runtime **runtime,
                            struct error **err);

struct runtimes *runtimes_new(const struct settings *settings);
void runtimes_free(struct runtimes *runtimes);

/* Hosts run another daemon than Incus. Before the first runtimes_get(). */
void runtimes_open_by(struct runtimes *runtimes, runtimes_opener *opener);

/* Hosts are called whether they are known to answer or not: by who finds that out. */
void runtimes_regardless(struct runtimes *runtimes);

/* The connection to a host, owned by runtimes and without a tick. It is opened again when the
 * host's row says something else. Errors: ERR_NOT_FOUND, ERR_HOST_UNREACHABLE and ERR_HOST_LOST, in
 * words for clients, those of the database. */
int runtimes_get(struct runtimes *runtimes, struct db *db, uint32_t host_id,
                 struct runtime **runtime, struct error **err);

/* The same, of a host whose row has just been read. */
int runtimes_of(struct runtimes *runtimes, struct db *db, const struct host *host,
                struct runtime **runtime, struct error **err);

/* The way to what runs on a host, owned by runtimes until the next call of any of these: NULL where
 * it is direct, which it is for all hosts as long as relay_dir is not set. What the row said a few
 * second ago may be taken for it. Errors: those of runtimes_get(); a host of which only the Incus
 * does not answer is reached. */
int runtimes_link(struct runtimes *runtimes, struct db *db, uint32_t host_id,
                  const struct http_link **link, struct error **err);

/* What the row of a host said just now, read together with something else. */
void runtimes_note_condition(struct runtimes *runtimes, uint32_t host_id,
                             const struct host_condition *condition);

/* Whether anything can be begun on a host, by what its row said a second ago or what was noted.
 * Errors: those of runtimes_get(). */
int runtimes_check(struct runtimes *runtimes, struct db *db, uint32_t host_id, struct error **err);

/* The same, and an address there: where an agent is. */
int runtimes_agent(struct runtimes *runtimes, struct db *db, uint32_t host_id, uint32_t address,
                   struct agent_place *place, struct error **err);

/* By which address and name the relay of a host is found, of which runtimes_link() gave a link. */
struct relay_place {
    const char *host_name;
    const char *url; /* https://a.b.c.d:port */
};
/* NULL url: the host is reached directly. Errors as runtimes_link(). */
int runtimes_relay(struct runtimes *runtimes, struct db *db, uint32_t host_id,
                   struct relay_place *relay, struct error **err);

/* The firewall of a host that runtimes_get() was called for, as that found it; NULL when the host
 * has none. */
struct firewall *runtimes_firewall(struct runtimes *runtimes, uint32_t host_id);
