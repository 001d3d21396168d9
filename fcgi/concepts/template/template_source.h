/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Make the sources of a version on the hosts, from its image. The dispatcher does it for the API,
 * and sandlotctl for the operator.
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
    /* Called before and after the work on a host. begin may set a tick, or refuse. */
    int (*begin)(void *context, const struct host *host, struct runtime *runtime,
                 struct error **err);
    void (*done)(void *context, const struct host *host); /* may be NULL */
    /* Called for a host that cannot receive the source; may be NULL. */
    void (*left_out)(void *context, const struct host *host, const struct error *why);
    void *context;
};

/* Make the source on every active host, from the image that the version names; hosts with the image
 * must have the same one. Hosts without it copy the source from another host. If only a draining
 * host has the image, it makes the first source. The last host of the list is active. Errors:
 * ERR_NO_CAPACITY when no host is active, ERR_NOT_FOUND without the image, ERR_RUNTIME_REFUSED. */
int template_sources_build(struct template_sources *sources, struct error **err);

/* Inside a transaction: make the version ready and record its sources, or make it failed. Errors:
 * ERR_LEASE_LOST, ERR_NOT_FOUND.
 *
 * lease_owner: the owner of its lease; NULL: a build of the operator, which has no lease. */
int template_sources_finish(struct db *db, const char *lease_owner,
                            const struct template_sources *sources, bool ready, struct error **err);

/* Give one more host, opened as runtime, the source of a ready version, and record it: from the
 * image if the host has this image, else from another host. */
int template_source_fetch(struct db *db, struct runtimes *runtimes,
                          const struct template_version *version, uint32_t host_id,
                          struct runtime *runtime, struct error **err);

/* Copy the source of a ready version for another one, on a host that has it. tick: of the runtime.
 * Errors: ERR_NOT_FOUND (the source is gone, or no such host answers), those of the runtime. */
struct template_twin {
    const char *from_id, *to_id; /* borrowed */
    int (*tick)(void *context, struct error **err);
    void *context;
    uint32_t host_id; /* set: where the copy is */
};
int template_source_copy(struct db *db, struct runtimes *runtimes, struct template_twin *twin,
                         struct error **err);

/* Delete the sources from all hosts. Errors: that of the first host that cannot be reached. */
int template_sources_remove(struct db *db, struct runtimes *runtimes, const char *version_id,
                            struct error **err);
