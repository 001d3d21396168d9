/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The connections of one worker process to the hosts, opened on first use. */
#pragma once

#include "config/settings.h"
#include "host/host.h"
#include "runtime/agent_client.h"
#include "runtime/runtime.h"

struct firewall;
struct runtimes;

/* Open the connection to a host, as runtime_incus_open() does. */
typedef int runtimes_opener(const struct runtime_host *host, struct runtime **runtime,
                            struct error **err);

/* Make the connections of a process; none is open yet. settings is borrowed. */
struct runtimes *runtimes_new(const struct settings *settings);
void runtimes_free(struct runtimes *runtimes); /* NULL is allowed */

/* Use another daemon than Incus on all hosts. Call it before the first runtimes_get(). */
void runtimes_open_by(struct runtimes *runtimes, runtimes_opener *opener);

/* Call hosts also when they are known not to answer; for the monitors that check this. */
void runtimes_regardless(struct runtimes *runtimes);

/* Return the connection to a host, owned by runtimes and without a tick. When the host's row has
 * changed, a later call for the host closes it and opens another. Errors: ERR_NOT_FOUND;
 * ERR_HOST_UNREACHABLE and ERR_HOST_LOST, worded for clients; those of the database. */
int runtimes_get(struct runtimes *runtimes, struct db *db, uint32_t host_id,
                 struct runtime **runtime, struct error **err);

/* Return the connection to a host whose row has just been read. */
int runtimes_of(struct runtimes *runtimes, struct db *db, const struct host *host,
                struct runtime **runtime, struct error **err);

/* Return the link to the programs on a host, owned by runtimes until runtimes_free(), also when the
 * host gets another address. If *link is NULL, they are reached directly, as on all hosts while
 * relay_dir is not set.
 *
 * The host's row may have been read a second ago. A host where only Incus does not answer is still
 * reached. Errors: those of runtimes_get(). */
int runtimes_link(struct runtimes *runtimes, struct db *db, uint32_t host_id,
                  const struct http_link **link, struct error **err);

/* Note the condition of a host that was read together with something else. */
void runtimes_note_condition(struct runtimes *runtimes, uint32_t host_id,
                             const struct host_condition *condition);

/* Check whether work can start on a host, by its condition of a second ago or as noted. Errors:
 * those of runtimes_get(). */
int runtimes_check(struct runtimes *runtimes, struct db *db, uint32_t host_id, struct error **err);

/* Check a host as runtimes_check() does, and return the place of the agent at this address. */
int runtimes_agent(struct runtimes *runtimes, struct db *db, uint32_t host_id, uint32_t address,
                   struct agent_place *place, struct error **err);

/* The name and address of a host's relay, as runtimes_link() uses them. */
struct relay_place {
    const char *host_name;
    const char *url; /* https://a.b.c.d:port */
};
/* Return the relay of a host. url NULL: the host is reached directly. Errors: as
 * runtimes_link(). */
int runtimes_relay(struct runtimes *runtimes, struct db *db, uint32_t host_id,
                   struct relay_place *relay, struct error **err);

/* Return the firewall of a host for which runtimes_get() was called before, owned by runtimes like
 * the connection; NULL: the host has no firewall. */
struct firewall *runtimes_firewall(struct runtimes *runtimes, uint32_t host_id);
