/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The warm pool: instances that are started already, of the templates and in the sizes that are
 * asked for (warm_plan.h), so that a create only has to claim one and hand over what makes it a
 * sandbox. The dispatcher fills the pool, when no create is under way, and takes out what no longer
 * fits (an older version, a draining host, an instance that died). A claim is
 * the deletion of the row in the transaction that inserts the sandbox: whoever dies, an instance
 * belongs to exactly one of both tables, and to the sweep when it is in neither.
 */
#pragma once

#include "base/ulid.h"
#include "runtime/runtime.h"
#include "worker/worker.h"

struct warm_instance {
    char name[INSTANCE_NAME_SIZE]; /* "": none */
    char template_version_id[ID_SIZE];
    uint32_t host_id;
    uint32_t address;
    uint16_t agent_key_id;
    struct runtime_resources resources;
};

/* Inside a transaction: take a ready instance of the version out of the pool, one of the wanted
 * resources if there is any. warm->name is "" when there is none. Whether the host has room for it
 * is not checked. */
int warm_claim(struct db *db, const char *template_version_id,
               const struct runtime_resources *resources, uint32_t only_host,
               struct warm_instance *warm, struct error **err);

/* Do one piece of work on the pool: remove what should leave, or add one that is missing. *worked:
 * there was some. */
int warm_maintain_next(struct worker *worker, bool *worked, struct error **err);

/* The next warm_maintain_next() looks, though there was nothing to do a moment ago. */
void warm_hurry(void);

/* Whether the instance is one of the pool. */
int warm_knows(struct db *db, const char *instance_name, bool *known, struct error **err);

/* An instance of the pool is not fit for use: it leaves. */
int warm_dismiss(struct db *db, const char *instance_name, struct error **err);

/* What waits on a host for the next create. The caller frees. */
struct warm_ready {
    char instance_name[INSTANCE_NAME_SIZE];
};
int warm_ready_on_host(struct db *db, uint32_t host_id, struct warm_ready **list, size_t *count,
                       struct error **err);
