/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The connections of one worker process to the runtime hosts, opened when first needed. */
#pragma once

#include "config/settings.h"
#include "host/host.h"
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

/* The connection to a host, owned by runtimes and without a tick. It is opened again when the
 * host's row says something else. */
int runtimes_get(struct runtimes *runtimes, struct db *db, uint32_t host_id,
                 struct runtime **runtime, struct error **err);

/* The firewall of a host that runtimes_get() was called for, as that found it; NULL when the host
 * has none. */
struct firewall *runtimes_firewall(struct runtimes *runtimes, uint32_t host_id);
