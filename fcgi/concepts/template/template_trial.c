/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "template/template_trial.h"

#include <stdio.h>
#include <string.h>

#include "base/fault_point.h"
#include "base/str.h"
#include "host/host.h"
#include "runtime/agent_client.h"
#include "template/template_row.h"
#include "template/warm_row.h"
#include "worker/worker.h"

#define TRIAL_DISK_GB 1

/* One name for all attempts: the next one finds the leftovers of the last one. */
static void trial_name(const struct template_version *version, char name[INSTANCE_NAME_SIZE])
{
    snprintf(name, INSTANCE_NAME_SIZE, "try-%s", version->id + strlen("tpv_"));
}

int template_trial_knows(struct db *db, const char *instance_name, bool *known, struct error **err)
{
    char id[ID_SIZE];
    *known = false;
    if (!str_starts_with(instance_name, "try-"))
        return 0;
    snprintf(id, sizeof id, "tpv_%s", instance_name + strlen("try-"));
    return id_is_valid("tpv_", id) ? template_row_uses_source(db, id, known, err) : 0;
}

static int release_body(struct db *db, void *context, struct error **err)
{
    return host_address_release(db, 0, context, err);
}

int template_trial_end(struct db *db, struct runtime *runtime,
                       const struct template_version *version, struct error **err)
{
    char name[INSTANCE_NAME_SIZE];
    trial_name(version, name);
    if (runtime->ops->destroy(runtime, name, err) < 0)
        return -1;
    return db_transaction(db, release_body, name, err);
}

struct placing {
    uint32_t host_id;
    const struct runtime_resources *resources;
    const char *name;
    uint32_t address;
};

static int place_body(struct db *db, void *context, struct error **err)
{
    struct placing *placing = context;
    return host_place_on(db, placing->host_id, placing->resources, false, placing->name,
                         &placing->address, err);
}

static int report_silent(struct runtime *runtime, const char *name, unsigned waited_s,
                         struct error **err)
{
    char tail[RUNTIME_CONSOLE_SIZE] = "";
    error_auto ignored = NULL;
    if (runtime->ops->measure->console(runtime, name, tail, &ignored) < 0)
        tail[0] = '\0';
    return error_set(err, ERR_RUNTIME_REFUSED,
                     "the agent of the trial sandbox did not answer within %u seconds: the image "
                     "must start sandlot-agent as root at boot%s%s",
                     waited_s, *tail ? "; its console ends with: " : "", tail);
}

static int start(const struct template_trial *trial, struct runtime *runtime,
                 struct placing *placing, struct error **err)
{
    char address[IPV4_TEXT_SIZE], source[INSTANCE_NAME_SIZE];
    const struct template_version *version = trial->version;
    struct agent_place at;
    struct runtime_instance instance = {
        .name = placing->name,
        .source = source,
        .sandbox_id = "",
        .virtual_machine = version->virtual_machine,
        .net_admin = version->net_admin,
        .resources = *placing->resources,
    };
    runtime_source_name(version->id, source);
    if (db_transaction(trial->db, place_body, placing, err) < 0 ||
        runtimes_agent(trial->runtimes, trial->db, placing->host_id, placing->address, &at, err) <
            0)
        return -1;
    instance.address = ipv4_format(placing->address, address);
    if (runtime->ops->create(runtime, &instance, err) < 0)
        return -1;
    fault_point(FAULT_BUILD_TRIED);
    unsigned wait_ms = worker_start_wait_ms(trial->settings, instance.virtual_machine);
    if (agent_wait(&at, deadline_in_ms(wait_ms), trial->tick, trial->context, err) == 0)
        return 0;
    if ((*err)->code != ERR_RUNTIME_UNAVAILABLE && (*err)->code != ERR_RUNTIME_FAILED)
        return -1;
    error_clear(err);
    return report_silent(runtime, placing->name, wait_ms / 1000, err);
}

int template_trial_run(const struct template_trial *trial, struct runtime *runtime,
                       struct error **err)
{
    char name[INSTANCE_NAME_SIZE];
    const struct template_version *version = trial->version;
    struct runtime_resources resources = {version->cpu, version->memory_mb, TRIAL_DISK_GB};
    struct placing placing = {.host_id = trial->host_id, .resources = &resources, .name = name};
    error_auto second = NULL;
    trial_name(version, name);
    if (warm_row_disk_gb(trial->db, &resources.disk_gb, err) < 0 ||
        template_trial_end(trial->db, runtime, version, err) < 0)
        return -1;
    int result = start(trial, runtime, &placing, err);
    if (result < 0 && (*err)->code == ERR_LEASE_LOST)
        runtime->tick = NULL; /* our own trial is ours to delete */
    if (template_trial_end(trial->db, runtime, version, &second) == 0)
        return result;
    return result < 0 ? -1 : error_move(err, &second);
}
