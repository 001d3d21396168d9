/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/fault_point.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/notify.h"
#include "base/str.h"
#include "checkpoint/checkpoint.h"
#include "crypto/aead.h"
#include "host/host.h"
#include "http/schema.h"
#include "network/denied_names.h"
#include "network/egress_profile.h"
#include "runtime/agent_client.h"
#include "sandbox/lifecycle_steps.h"
#include "sandbox/reservation.h"
#include "sandbox/sandbox_row.h"
#include "template/template.h"
#include "template/warm.h"

#define AGENT_WARM_WAIT_MS 2000 /* it answered before */
#define CPUS_WAIT_MS       1500 /* on a busy host */
#define CPUS_LOOK_MS       10

static int check_overrides(const struct sandbox_create *request, const struct plan *plan,
                           struct error **err)
{
    const char *field = request->cpu ? "/cpu" : "/memory_mb";
    if (!request->cpu && !request->memory_mb)
        return 0;
    if (!plan->resource_override)
        return error_set_field(err, ERR_PLAN_RESTRICTS_RESOURCES, field,
                               "The team's plan %s runs every sandbox in the size of its template.",
                               plan->name);
    if (request->cpu && plan_check_cpu(plan, request->cpu, "/cpu", err) < 0)
        return -1;
    return request->memory_mb ? plan_check_memory(plan, request->memory_mb, "/memory_mb", err) : 0;
}

/* What it is copied from: a template version, or a checkpoint. */
struct source {
    struct template_version version;
    struct checkpoint checkpoint; /* id "": none */
};

static int no_checkpoint(const char *field, struct error **err)
{
    return error_set_field(err, ERR_TEMPLATE_NOT_FOUND, field,
                           "The team has no checkpoint of this id.");
}

static int find_checkpoint(struct db *db, const struct sandbox_create *request,
                           struct source *source, struct error **err)
{
    struct checkpoint *checkpoint = &source->checkpoint;
    if (!id_is_valid("ckp_", request->source))
        return no_checkpoint(request->source_field, err);
    if (checkpoint_get(db, request->source, checkpoint, err) < 0) {
        if ((*err)->code != ERR_NOT_FOUND)
            return -1;
        error_clear(err);
        return no_checkpoint(request->source_field, err);
    }
    if (strcmp(checkpoint->team_id, request->team->id) != 0)
        return no_checkpoint(request->source_field, err);
    return template_version_get(db, checkpoint->template_version_id, &source->version, err);
}

/* No template is named like the id of a checkpoint, so one look tells them apart. */
static int find_source(struct worker *worker, const struct sandbox_create *request,
                       struct source *source, struct error **err)
{
    const char *name = request->source ? request->source : worker->settings->default_template;
    const char *field = request->source_field ? request->source_field : "/template";
    *source = (struct source){.version = {.id = ""}};
    if (str_equal(field, "/snapshot_id") || id_is_valid("ckp_", name))
        return find_checkpoint(worker->db, request, source, err);
    return template_resolve(worker->db, request->team->id, name, field, &source->version, err);
}

static void take_source(const struct sandbox_create *request, const struct plan *plan,
                        const struct source *source, struct sandbox *sandbox)
{
    const struct template_version *version = &source->version;
    const struct checkpoint *checkpoint = &source->checkpoint;
    bool restored = checkpoint->id[0];
    memcpy(sandbox->template_slug, restored ? checkpoint->template_slug : version->slug,
           sizeof sandbox->template_slug);
    memcpy(sandbox->template_version_id, version->id, sizeof sandbox->template_version_id);
    memcpy(sandbox->snapshot_id, checkpoint->id, sizeof sandbox->snapshot_id);
    sandbox->virtual_machine = version->virtual_machine;
    sandbox->shape = (struct runtime_shape){restored ? checkpoint->cpu : version->cpu,
                                            restored ? checkpoint->memory_mb : version->memory_mb,
                                            plan->disk_gb};
    if (request->cpu)
        sandbox->shape.cpu = request->cpu;
    if (request->memory_mb)
        sandbox->shape.memory_mb = request->memory_mb;
    if (sandbox->shape.disk_gb < checkpoint->disk_gb)
        sandbox->shape.disk_gb = checkpoint->disk_gb;
}

/* Everything that can be settled before anything is locked. */
static int plan_sandbox(struct worker *worker, const struct sandbox_create *request,
                        struct sandbox *sandbox, struct source *source, struct error **err)
{
    struct plan plan;
    if (plan_get(worker->db, request->team->plan, &plan, err) < 0)
        return -1;
    if (request->timeout_s > plan.max_timeout_s)
        return error_set_field(err, ERR_INVALID_REQUEST, "/timeout",
                               "The plan %s allows a timeout of at most %u seconds.", plan.name,
                               plan.max_timeout_s);
    if (check_overrides(request, &plan, err) < 0 || find_source(worker, request, source, err) < 0)
        return -1;

    id_new("sbx_", sandbox->id);
    memcpy(sandbox->team_id, request->team->id, sizeof sandbox->team_id);
    memcpy(sandbox->team_slug, request->team->slug, sizeof sandbox->team_slug);
    snprintf(sandbox->created_by, sizeof sandbox->created_by, "%s", request->user_id);
    route_token_new(sandbox->route);
    take_source(request, &plan, source, sandbox);
    sandbox->timeout_s = (uint32_t)request->timeout_s;
    sandbox->on_timeout = request->on_timeout;
    sandbox->auto_resume = request->auto_resume;
    sandbox->pause_memory = request->pause_memory;
    sandbox->on_pause_failure = request->on_pause_failure;
    sandbox->metadata = xstrdup(request->metadata);
    sandbox->volume_mounts = xstrdup(request->volume_mounts ? request->volume_mounts : "{}");
    sandbox->network = xstrdup(request->network);
    sandbox->network_revision = 1;
    sandbox->allow_public_traffic = request->allow_public_traffic;
    sandbox->all_ports = request->all_ports;
    sandbox->agent_key_id = keyring_newest(worker->ring);
    memcpy(sandbox->ports, request->ports, sizeof sandbox->ports);
    sandbox->port_count = request->port_count;
    return 0;
}

struct insert {
    const struct sandbox_create *request;
    const struct source *source;
    struct work *work;
    const struct buffer *envs_sealed;
    bool may_claim;                                /* an instance of the warm pool */
    struct warm_instance warm;                     /* the one that was claimed; name "": none */
    struct volume_mount mounts[VOLUME_MOUNTS_MAX]; /* the request's, found */
};

/* On the host that has the checkpoint, which cannot be deleted before the row is there. */
static int place_restored(struct db *db, struct insert *insert, uint32_t only_host,
                          struct error **err)
{
    struct sandbox *sandbox = &insert->work->sandbox;
    const struct checkpoint *checkpoint = &insert->source->checkpoint;
    sandbox->host_id = checkpoint->host_id;
    if (only_host && only_host != checkpoint->host_id)
        return error_set_field(err, ERR_INVALID_REQUEST, "/volume_mounts",
                               "The volumes are on another host than the checkpoint.");
    if (host_place_on(db, checkpoint->host_id, &sandbox->shape, true, sandbox->instance_name,
                      &sandbox->address, err) < 0)
        return -1;
    sandbox->counted.by_host = true;
    if (checkpoint_hold(db, checkpoint->id, err) == 0)
        return 0;
    if ((*err)->code != ERR_NOT_FOUND)
        return -1;
    error_clear(err);
    return no_checkpoint(insert->request->source_field, err);
}

/* A waiting instance becomes the sandbox's, if there is one. only_host: where the volumes are; 0:
 * any. */
static int claim(struct db *db, struct insert *insert, uint32_t only_host, struct error **err)
{
    struct sandbox *sandbox = &insert->work->sandbox;
    struct warm_instance *warm = &insert->warm;
    *warm = (struct warm_instance){0};
    snprintf(sandbox->instance_name, sizeof sandbox->instance_name, "sbx-%s", sandbox->id + 4);
    if (insert->source->checkpoint.id[0] || !insert->may_claim)
        return 0;
    if (warm_claim(db, sandbox->template_version_id, &sandbox->shape, only_host, warm, err) < 0)
        return -1;
    if (!warm->name[0])
        return 0;
    memcpy(sandbox->instance_name, warm->name, sizeof sandbox->instance_name);
    sandbox->host_id = warm->host_id;
    sandbox->address = warm->address;
    sandbox->agent_key_id = warm->agent_key_id;
    return 0;
}

/* A host with room and an address on it: those of the waiting instance, or new ones. */
static int place(struct db *db, struct insert *insert, uint32_t only_host, struct error **err)
{
    struct sandbox *sandbox = &insert->work->sandbox;
    if (insert->source->checkpoint.id[0])
        return place_restored(db, insert, only_host, err);
    if ((insert->warm.name[0]
             ? host_reserve_new(db, sandbox->host_id, &sandbox->shape, err)
             : host_place(db, sandbox->template_version_id, &sandbox->shape, only_host,
                          sandbox->instance_name, &sandbox->host_id, &sandbox->address, err)) < 0)
        return -1;
    sandbox->counted.by_host = true;
    return 0;
}

/* Reserve quota, host and address and write the row that holds all three. The rows of the team and
 * of the host are locked from there to the end: what others need not wait for comes before. */
static int insert_body(struct db *db, void *context, struct error **err)
{
    struct insert *insert = context;
    const struct sandbox_create *request = insert->request;
    struct work *work = insert->work;
    struct sandbox *sandbox = &work->sandbox;
    uint32_t only_host;
    sandbox->state = sandbox->snapshot_id[0] ? SANDBOX_RESTORING : SANDBOX_CREATING;
    sandbox->reserved = RESERVES_ALL;
    sandbox->counted = (struct sandbox_counted){0};
    sandbox->incarnation = 1;
    sandbox->operation_id[0] = '\0';
    sandbox->created_at_ms = sandbox->updated_at_ms = clock_now_ms();
    memcpy(insert->mounts, request->mounts, sizeof insert->mounts);
    if (denied_names_admit(db, sandbox->team_id, sandbox->id, sandbox->network,
                           (unsigned)work->worker->settings->denied_names_per_team, err) < 0 ||
        volume_mounts_lock(db, sandbox->team_id, insert->mounts, request->mount_count, &only_host,
                           err) < 0 ||
        claim(db, insert, only_host, err) < 0 ||
        operation_begin(db, sandbox, OPERATION_CREATE, work->worker->lease_owner,
                        work->worker->settings->lease_s, &work->operation, err) < 0)
        return -1;
    if (request->claim && request->claim(db, sandbox->id, request->claim_context, err) < 0)
        return -1;
    if (reservation_take_quota(db, sandbox, err) < 0 || place(db, insert, only_host, err) < 0 ||
        sandbox_row_insert(db, sandbox, insert->envs_sealed, err) < 0 ||
        volume_mounts_attach(db, sandbox->team_id, sandbox->id, insert->mounts,
                             request->mount_count, err) < 0 ||
        egress_profile_follow(db, sandbox->id, sandbox->network, true, err) < 0)
        return -1;
    if (!sandbox->snapshot_id[0] &&
        template_version_hold(db, sandbox->template_version_id, err) < 0)
        return -1;
    fault_point(FAULT_CREATE_INSERTING);
    return 0;
}

static int seal_envs(struct worker *worker, const struct sandbox_create *request,
                     const char *sandbox_id, struct buffer *sealed, struct error **err)
{
    if (!request->envs)
        return 0;
    return aead_seal(worker->ring, request->envs, strlen(request->envs), sandbox_id, sealed, err);
}

/* The volumes as the runtime knows them. The names are kept in `names`. */
struct mount_list {
    char names[VOLUME_MOUNTS_MAX][VOLUME_INSTANCE_SIZE];
    struct runtime_mount mounts[VOLUME_MOUNTS_MAX];
    unsigned count;
};

static void list_mounts(const struct insert *insert, struct mount_list *list)
{
    list->count = insert->request->mount_count;
    for (unsigned i = 0; i < list->count; i++)
        list->mounts[i] = (struct runtime_mount){
            .volume = volume_instance_name(insert->mounts[i].volume_id, list->names[i]),
            .path = insert->mounts[i].path,
        };
}

static int start_cold(struct work *work, const struct source *from, const struct mount_list *list,
                      struct error **err)
{
    const struct sandbox *sandbox = &work->sandbox;
    char address[IPV4_TEXT_SIZE], source[INSTANCE_NAME_SIZE];
    if (from->checkpoint.id[0])
        memcpy(source, from->checkpoint.instance_name, sizeof source);
    else
        template_source_name(sandbox->template_version_id, source);
    struct runtime_instance instance = {
        .name = sandbox->instance_name,
        .address = ipv4_format(sandbox->address, address),
        .source = source,
        .sandbox_id = sandbox->id,
        .virtual_machine = sandbox->virtual_machine,
        .net_admin = from->version.net_admin,
        .shape = sandbox->shape,
        .mounts = list->mounts,
        .mount_count = list->count,
    };
    if (work->runtime->ops->create(work->runtime, &instance, err) < 0)
        return -1;
    fault_point(FAULT_CREATE_STARTED);
    return work_init_agent(work, AGENT_START_WAIT_MS, err);
}

/* Incus hands processors out again behind its answer, by tenths of a second: a command that counts
 * them before would start too few workers. `before`: how many there were, if the host has so many;
 * it gives no more than it has. */
static int wait_for_cpus(struct work *work, unsigned before, struct error **err)
{
    const struct sandbox *sandbox = &work->sandbox;
    unsigned most;
    if (work->runtime->ops->processors(work->runtime, &most, err) < 0)
        return -1;
    if (before >= most && sandbox->shape.cpu >= most)
        return 0;
    before = before < most ? before : most;
    int64_t give_up_ms = clock_monotonic_ms() + CPUS_WAIT_MS;
    char secret[AGENT_SECRET_SIZE];
    unsigned cpus = before;
    int result = agent_secret(work->worker->ring, sandbox->instance_name, sandbox->agent_key_id,
                              secret, err);
    while (result == 0 && cpus == before && clock_monotonic_ms() < give_up_ms) {
        result = agent_cpus(sandbox->address, secret, &cpus, err);
        if (result == 0 && cpus == before)
            clock_sleep_ms(CPUS_LOOK_MS);
    }
    mem_wipe(secret, sizeof secret);
    return result;
}

/* The runtime is only asked when the instance waits in another size, or is to have volumes. */
static int start_warm(struct work *work, const struct warm_instance *warm,
                      const struct mount_list *list, struct error **err)
{
    const struct sandbox *sandbox = &work->sandbox;
    bool resize = memcmp(&warm->shape, &sandbox->shape, sizeof warm->shape) != 0;
    if ((resize || list->count) && work->runtime->ops->adapt(work->runtime, sandbox->instance_name,
                                                             resize ? &sandbox->shape : NULL,
                                                             list->mounts, list->count, err) < 0)
        return -1;
    fault_point(FAULT_CREATE_ADAPTED);
    if (work_init_agent(work, AGENT_WARM_WAIT_MS, err) < 0)
        return -1;
    return warm->shape.cpu == sandbox->shape.cpu ? 0 : wait_for_cpus(work, warm->shape.cpu, err);
}

/* The kernel takes the policy in while the agent of a waiting instance gets ready; a fresh copy
 * takes longer than any firewall. */
static int start(struct work *work, const struct warm_instance *warm, const struct source *from,
                 const struct mount_list *list, struct error **err)
{
    work_network_begin(work);
    if (!warm->name[0])
        work_network_end(work);
    int result =
        warm->name[0] ? start_warm(work, warm, list, err) : start_cold(work, from, list, err);
    work_network_end(work);
    fault_point(FAULT_CREATE_NETWORK);
    return result;
}

/* One attempt. *was_warm: may it claim a waiting instance, and did it, so that another attempt
 * without one may do better? */
static int attempt(struct work *work, const struct sandbox_create *request, bool *was_warm,
                   struct error **err)
{
    struct worker *worker = work->worker;
    buffer_auto envs_sealed = BUFFER_INIT(SANDBOX_ENVS_MAX);
    struct mount_list list;
    struct source source;
    struct insert insert = {.request = request,
                            .source = &source,
                            .work = work,
                            .envs_sealed = &envs_sealed,
                            .may_claim = *was_warm};
    *was_warm = false;
    if (plan_sandbox(worker, request, &work->sandbox, &source, err) < 0 ||
        seal_envs(worker, request, work->sandbox.id, &envs_sealed, err) < 0)
        return -1;
    fault_point(FAULT_CREATE_PLANNED);
    int inserted = db_transaction(worker->db, insert_body, &insert, err);
    *was_warm = insert.warm.name[0] && (inserted == 0 || (*err)->code == ERR_NO_CAPACITY);
    if (inserted < 0)
        return error_is_transient(*err) ? work_public_error(work, err) : -1;
    work_start(work, worker);
    fault_point(FAULT_CREATE_INSERTED);
    list_mounts(&insert, &list);
    if (work_open_runtime(work, err) < 0 || work_fence_volumes(work, err) < 0 ||
        start(work, &insert.warm, &source, &list, err) < 0)
        return work_undo_create(work, err);
    fault_point(FAULT_CREATE_AGENT);
    if (work_finish(work, SANDBOX_EVENT_CREATED, NULL, err) < 0)
        return work_undo_create(work, err);
    fault_point(FAULT_CREATE_FINISHED);
    return 0;
}

/* Somebody ended the create before it was done: a client who saw the sandbox in the list, or a
 * dispatcher for whom it took too long. */
static int ended_by_others(const struct work *work, struct error **err)
{
    bool late = clock_monotonic_ms() >= work->lease.lost_at_ms;
    error_clear(err);
    if (late)
        return error_set(err, ERR_RUNTIME_UNAVAILABLE,
                         "Making the sandbox took too long and was undone; try again.");
    return error_set(err, ERR_SANDBOX_BUSY, "The sandbox was deleted while it was being made.");
}

/* A place on the disk that it is made from, which the request chose together with what is mounted
 * there. */
static int bad_mount_point(const struct sandbox_create *request, struct error **err)
{
    error_auto failure = NULL;
    autofree char *pointer = NULL;
    error_move(&failure, err);
    for (unsigned i = 0; i < request->mount_count && !pointer; i++)
        if (str_equal(request->mounts[i].path, failure->field))
            pointer = schema_pointer("/volume_mounts", request->mounts[i].path);
    const char *source = request->source_field ? request->source_field : "/template";
    return error_set_field(err, ERR_INVALID_REQUEST, pointer ? pointer : source,
                           "No sandbox can start from this disk: %s.", failure->message);
}

int sandbox_create(struct worker *worker, const struct sandbox_create *request,
                   struct sandbox *sandbox, struct error **err)
{
    bool warm = true, again = true;
    for (;;) {
        work_auto work = {.worker = worker};
        bool was_warm = warm;
        int result = attempt(&work, request, &was_warm, err);
        notify_send(worker->settings->api_socket, NOTIFY_POOL);
        if (result == 0) {
            *sandbox = work.sandbox;
            work.sandbox = (struct sandbox){0};
            return 0;
        }
        /* An instance that died while it waited is no reason to fail. */
        if ((*err)->code == ERR_LEASE_LOST)
            return ended_by_others(&work, err);
        if ((*err)->code == ERR_MOUNT_POINT)
            return bad_mount_point(request, err);
        /* What keeps one instance from starting may be in its address, or in the host's hands for a
         * moment: another one is tried, once. */
        bool refused = (*err)->code == ERR_RUNTIME_REFUSED || (*err)->code == ERR_RUNTIME_FAILED;
        if (!was_warm && !(refused && again))
            return work_public_error(&work, err);
        again = again && was_warm;
        error_clear(err);
        warm = false;
    }
}
