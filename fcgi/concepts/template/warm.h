/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The warm pool: started instances of the templates and sizes that are in demand (warm_plan.h). A
 * create only has to claim one and assign it to the sandbox. The dispatcher fills the warm pool
 * when no create is running. It removes instances of an older version or of a draining host, and
 * instances that died.
 *
 * A claim deletes the row in the transaction that inserts the sandbox. So an instance belongs to
 * exactly one of the two tables, also when a process dies. An instance in neither table belongs to
 * the sweep.
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

/* Inside a transaction: take a ready instance of the version from the warm pool, if possible with
 * the wanted resources. any_size: otherwise one of another size. only_host: on this host; 0: on
 * any host. If the warm pool has at most `kept` ready instances, or no suitable one, warm->name is
 * "". The room on the host is not checked. */
int warm_claim(struct db *db, const char *template_version_id,
               const struct runtime_resources *resources, bool any_size, uint32_t only_host,
               uint32_t kept, struct warm_instance *warm, struct error **err);

/* Return how many ready instances a tenant leaves to others when the last create was its own too.
 */
#define WARM_KEPT_MAX 8
uint32_t warm_kept(const struct settings *settings);

/* Do one piece of work on the pool: remove an instance that should leave, or add a missing one.
 * *worked: there was some work. */
int warm_maintain_next(struct worker *worker, bool *worked, struct error **err);

/* Make the next warm_maintain_next() look, even if it found no work a moment ago. */
void warm_hurry(void);

/* Check whether the name is one of the pool's: the instance is in the pool, or was claimed. */
bool warm_names(const char *instance_name);

/* Check whether the instance belongs to the pool. */
int warm_knows(struct db *db, const char *instance_name, bool *known, struct error **err);

/* Dismiss an unfit instance: it leaves the pool. */
int warm_dismiss(struct db *db, const char *instance_name, struct error **err);

/* List the ready instances on a host. The caller frees. */
struct warm_ready {
    char instance_name[INSTANCE_NAME_SIZE];
};
int warm_ready_on_host(struct db *db, uint32_t host_id, struct warm_ready **list, size_t *count,
                       struct error **err);
