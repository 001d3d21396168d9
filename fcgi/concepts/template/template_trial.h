/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The trial of a new version: start a sandbox from its source, and wait until the agent answers. */
#pragma once

#include "host/runtimes.h"
#include "template/template.h"

struct settings;

/* One trial. All pointers are borrowed. */
struct template_trial {
    struct db *db;
    struct runtimes *runtimes;
    const struct settings *settings;
    const struct template_version *version;
    uint32_t host_id; /* which has the source of the version */
    /* Called twice a second during the wait; ends the wait with its error. NULL: not called. */
    int (*tick)(void *context, struct error **err);
    void *context;
};

/* Start the sandbox on the host, and delete it when its agent has answered. runtime: of the host;
 * after ERR_LEASE_LOST its tick is NULL. Takes up to machine_start_s for a virtual machine. Errors:
 * ERR_RUNTIME_REFUSED if the agent does not answer, with the end of the console; ERR_NO_CAPACITY if
 * the host has no address left; ERR_LEASE_LOST from tick; those of the runtime. */
int template_trial_run(const struct template_trial *trial, struct runtime *runtime,
                       struct error **err);

/* Delete the leavings of an earlier trial on a host, and release its address. */
int template_trial_end(struct db *db, struct runtime *runtime,
                       const struct template_version *version, struct error **err);

/* Check whether an instance is the trial of an existing template version. */
int template_trial_knows(struct db *db, const char *instance_name, bool *known, struct error **err);
