/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sandbox/warm.h"

#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "host/host.h"
#include "sandbox/agent_client.h"
#include "sandbox/warm_row.h"
#include "template/template.h"

#define AGENT_START_WAIT_MS 15000

/* --- out --- */

struct leaving {
    uint64_t lease_s;
    struct warm_instance warm;
};

static int take_leaving_body(struct db *db, void *context, struct error **err)
{
    struct leaving *leaving = context;
    return warm_row_take_leaving(db, leaving->lease_s, &leaving->warm, err);
}

static int forget_body(struct db *db, void *context, struct error **err)
{
    const struct warm_instance *warm = context;
    if (warm_row_delete(db, warm->name, err) < 0)
        return -1;
    return host_address_release(db, warm->host_id, warm->name, err);
}

static int remove_next(struct worker *worker, bool *worked, struct error **err)
{
    struct leaving leaving = {.lease_s = worker->settings->lease_s};
    struct runtime *runtime;
    if (db_transaction(worker->db, take_leaving_body, &leaving, err) < 0)
        return -1;
    *worked = leaving.warm.name[0];
    if (!*worked)
        return 0;
    if (runtimes_get(worker->runtimes, worker->db, leaving.warm.host_id, &runtime, err) < 0 ||
        runtime->ops->destroy(runtime, leaving.warm.name, err) < 0)
        return -1;
    return db_transaction(worker->db, forget_body, &leaving.warm, err);
}

/* --- in --- */

struct addition {
    const struct settings *settings;
    const struct template_version *version;
    struct warm_instance warm; /* name "": the pool is full, or no host has room */
};

/* Placing takes the host's lock, so that several dispatchers count one after the other. */
static int add_body(struct db *db, void *context, struct error **err)
{
    struct addition *addition = context;
    struct warm_instance *warm = &addition->warm;
    char id[ID_SIZE];
    unsigned count;
    snprintf(warm->name, sizeof warm->name, "warm-%s", id_new("wrm_", id) + 4);
    if (host_place_waiting(db, warm->template_version_id, &warm->shape, warm->name, &warm->host_id,
                           &warm->address, err) < 0 ||
        warm_row_count(db, warm->template_version_id, &count, err) < 0)
        return -1;
    if (count >= addition->settings->warm_pool_size)
        return error_set(err, ERR_NO_CAPACITY, "the pool is full");
    return warm_row_insert(db, warm, addition->settings->lease_s, err);
}

static int start_instance(struct worker *worker, const struct addition *addition,
                          struct error **err)
{
    const struct warm_instance *warm = &addition->warm;
    char address[IPV4_TEXT_SIZE], source[INSTANCE_NAME_SIZE];
    struct runtime *runtime;
    template_source_name(warm->template_version_id, source);
    struct runtime_instance instance = {
        .name = warm->name,
        .address = ipv4_format(warm->address, address),
        .source = source,
        .sandbox_id = "",
        .virtual_machine = addition->version->virtual_machine,
        .shape = warm->shape,
    };
    if (runtimes_get(worker->runtimes, worker->db, warm->host_id, &runtime, err) < 0 ||
        runtime->ops->create(runtime, &instance, err) < 0)
        return -1;
    return agent_wait(warm->address, AGENT_START_WAIT_MS, err);
}

static int add_next(struct worker *worker, const struct template_version *version, bool *worked,
                    struct error **err)
{
    struct addition addition = {.settings = worker->settings, .version = version};
    struct warm_instance *warm = &addition.warm;
    unsigned count;
    if (warm_row_count(worker->db, version->id, &count, err) < 0)
        return -1;
    if (count >= worker->settings->warm_pool_size)
        return 0;
    memcpy(warm->template_version_id, version->id, sizeof warm->template_version_id);
    warm->agent_key_id = keyring_newest(worker->ring);
    warm->shape.cpu = version->cpu;
    warm->shape.memory_mb = version->memory_mb;
    if (warm_row_disk_gb(worker->db, &warm->shape.disk_gb, err) < 0)
        return -1;
    if (db_transaction(worker->db, add_body, &addition, err) < 0) {
        if ((*err)->code != ERR_NO_CAPACITY)
            return -1;
        error_clear(err);
        return 0;
    }
    *worked = true;
    if (start_instance(worker, &addition, err) == 0)
        return warm_row_ready(worker->db, warm->name, err);
    error_auto ignored = NULL;
    warm_dismiss(worker->db, warm->name, &ignored); /* or its lease runs out */
    return -1;
}

int warm_tend_next(struct worker *worker, bool *worked, struct error **err)
{
    const struct settings *settings = worker->settings;
    struct template_version version = {.id = ""};
    *worked = false;
    if (settings->warm_pool_size &&
        template_resolve(worker->db, TEAM_DEPLOYMENT_ID, settings->default_template,
                         "default_template", &version, err) < 0) {
        if ((*err)->code != ERR_TEMPLATE_NOT_FOUND)
            return -1;
        error_clear(err); /* none yet */
    }
    if (warm_row_dismiss_unfit(worker->db, version.id, (unsigned)settings->warm_pool_size, err) <
            0 ||
        remove_next(worker, worked, err) < 0)
        return -1;
    if (*worked || !version.id[0])
        return 0;
    return add_next(worker, &version, worked, err);
}
