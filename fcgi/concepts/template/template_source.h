/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The sources of a version on the hosts, from its image: the dispatcher makes them for the API, and
 * sandlotctl for the operator.
 */
#pragma once

#include "host/host.h"
#include "host/runtimes.h"
#include "template/template.h"

#define TEMPLATE_HOSTS_MAX 4096

/* One build. Strings are borrowed. */
struct template_sources {
    struct db *db;
    struct runtimes *runtimes;
    struct template_version *version; /* its fingerprint, type and size are filled in */
    uint32_t hosts[TEMPLATE_HOSTS_MAX];
    unsigned host_count; /* that have the source */
    /* Around the work on a host. The first may set a tick, or refuse. */
    int (*begin)(void *context, const struct host *host, struct runtime *runtime,
                 struct error **err);
    void (*done)(void *context, const struct host *host); /* may be NULL */
    void *context;
};

/* On every active host, from the image that the version names; all must have the same one. Errors:
 * ERR_NO_CAPACITY when no host is active, ERR_RUNTIME_REFUSED. */
int template_sources_build(struct template_sources *sources, struct error **err);

/* Inside a transaction: the version is ready and its sources are known, or it has failed.
 * lease_owner: who has it in a lease; NULL: the operator, whose builds have none. Errors:
 * ERR_LEASE_LOST, ERR_NOT_FOUND. */
int template_sources_finish(struct db *db, const char *lease_owner,
                            const struct template_sources *sources, bool ready, struct error **err);

/* Remove the sources from every host, whichever had them. Stops at a host that is away. */
int template_sources_remove(struct db *db, struct runtimes *runtimes, const char *version_id,
                            struct error **err);
