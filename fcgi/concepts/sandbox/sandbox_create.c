/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdio.h>
#include <string.h>

#include "archive/archive.h"
#include "base/clock.h"
#include "base/counters.h"
#include "base/fault_point.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/notify.h"
#include "base/str.h"
#include "checkpoint/checkpoint.h"
#include "crypto/aead.h"
#include "host/host.h"
#include "http/schema.h"
#include "moving/moving.h"
#include "network/denied_names.h"
#include "network/egress_profile.h"
#include "sandbox/assignment.h"
#include "sandbox/failed_starts.h"
#include "sandbox/lifecycle_steps.h"
#include "sandbox/reservation.h"
#include "sandbox/sandbox_events.h"
#include "sandbox/sandbox_gather.h"
#include "sandbox/sandbox_hook.h"
#include "sandbox/sandbox_ports.h"
#include "sandbox/sandbox_room.h"
#include "sandbox/sandbox_row.h"
#include "sandbox/sandbox_size.h"
#include "sandbox/sandbox_source.h"
#include "secret/egress_secrets.h"
#include "template/template.h"
#include "template/warm.h"

#define FORK_ATTEMPTS 3
/* within this time a create may begin again on another host */
#define ELSEWHERE_MOST_MS 20000
/* With volumes: move the volumes, move the source, and move the source once more when both had to
 * go to a third host. */
#define GATHER_STEPS 3

static int check_overrides(const struct sandbox_create *request, const struct plan *plan,
                           struct error **err)
{
    const char *field = request->cpu ? "/cpu" : "/memory_mb";
    if (!request->cpu && !request->memory_mb)
        return 0;
    if (!plan->resource_override)
        return error_set_field(err, ERR_PLAN_RESTRICTS_RESOURCES, field,
                               "The team's plan %s does not let you choose a size: each sandbox "
                               "has the size of its template.",
                               plan->name);
    if (request->cpu && plan_check_cpu(plan, request->cpu, "/cpu", err) < 0)
        return -1;
    return request->memory_mb ? plan_check_memory(plan, request->memory_mb, "/memory_mb", err) : 0;
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
    if (!source->from_memory)
        memcpy(sandbox->snapshot_id, checkpoint->id, sizeof sandbox->snapshot_id);
    snprintf(sandbox->forked_from, ID_SIZE, "%s", request->forked_from ? request->forked_from : "");
    sandbox->virtual_machine = version->virtual_machine;
    sandbox->resources = (struct runtime_resources){
        restored ? checkpoint->cpu : version->cpu,
        restored ? checkpoint->memory_mb : version->memory_mb, plan->disk_gb};
    if (request->cpu)
        sandbox->resources.cpu = request->cpu;
    if (request->memory_mb)
        sandbox->resources.memory_mb = request->memory_mb;
    if (!source->from_memory && sandbox->resources.disk_gb < checkpoint->disk_gb)
        sandbox->resources.disk_gb = checkpoint->disk_gb;
}

static int check_isolation(const struct sandbox *sandbox, const struct plan *plan,
                           struct error **err)
{
    if (sandbox->virtual_machine || !plan->virtual_machines_only)
        return 0;
    return error_set_field(err, ERR_PLAN_RESTRICTS_RESOURCES, "/template",
                           "The team's plan %s runs virtual machines only, and sandboxes of the "
                           "template %s are containers. Use a template whose isolation is vm.",
                           plan->name, sandbox->template_slug);
}

static int check_mounts(const struct sandbox *sandbox, const struct sandbox_create *request,
                        struct error **err)
{
    if (!request->mount_count || !sandbox->virtual_machine)
        return 0;
    return error_set_field(err, ERR_INVALID_REQUEST, "/volume_mounts",
                           "Sandboxes of the template %s are virtual machines, which mount no "
                           "volumes.",
                           sandbox->template_slug);
}

/* Check only a size that the request chooses. The build checked the size of a template, so most
 * creates need no query. */
static int check_size(const struct work *work, const struct sandbox_create *request,
                      struct error **err)
{
    const struct runtime_resources *resources = &work->sandbox.resources;
    if (!request->cpu && !request->memory_mb)
        return 0;
    return host_check_size(work->worker->db, resources->cpu, resources->memory_mb,
                           request->cpu ? "/cpu" : NULL, request->memory_mb ? "/memory_mb" : NULL,
                           err);
}

/* Do all checks that need no locks. */
static int plan_sandbox(struct work *work, const struct sandbox_create *request, bool may_remember,
                        struct source *source, struct error **err)
{
    struct worker *worker = work->worker;
    struct sandbox *sandbox = &work->sandbox;
    struct plan plan;
    if (request->port_count > worker->settings->sandbox_ports_max)
        return sandbox_too_many_ports("/exposed_ports",
                                      (unsigned)worker->settings->sandbox_ports_max, err);
    if (plan_get(worker->db, request->team->plan, &plan, err) < 0)
        return -1;
    if (request->timeout_s > plan.max_timeout_s)
        return error_set_field(err, ERR_INVALID_REQUEST, "/timeout",
                               "The plan %s allows a timeout of at most %u seconds.", plan.name,
                               plan.max_timeout_s);
    if (check_overrides(request, &plan, err) < 0 ||
        source_find(worker, request, may_remember, source, err) < 0)
        return -1;

    id_new("sbx_", sandbox->id);
    memcpy(sandbox->team_id, request->team->id, sizeof sandbox->team_id);
    memcpy(sandbox->team_slug, request->team->slug, sizeof sandbox->team_slug);
    snprintf(sandbox->created_by, sizeof sandbox->created_by, "%s", request->user_id);
    route_token_new(sandbox->route);
    take_source(request, &plan, source, sandbox);
    if (check_isolation(sandbox, &plan, err) < 0 || check_size(work, request, err) < 0 ||
        check_mounts(sandbox, request, err) < 0)
        return -1;
    work->told = (struct agent_told){true, request->envs, plan.process_log_kib, request->services};
    sandbox->timeout_s = (uint32_t)request->timeout_s;
    sandbox->choices = request->choices;
    sandbox->metadata = xstrdup(request->metadata);
    sandbox->volume_mounts = xstrdup(request->volume_mounts ? request->volume_mounts : "{}");
    sandbox->hooks = xstrdup(request->hooks ? request->hooks : "");
    sandbox->network = xstrdup(request->network ? request->network : "");
    sandbox->network_revision = 1;
    sandbox->agent_key_id = keyring_newest(worker->ring);
    return sandbox_ports_take(worker, request, sandbox, err);
}

int sandbox_create_check(struct worker *worker, const struct sandbox_create *request,
                         struct error **err)
{
    work_auto work = {.worker = worker};
    struct source source = {.from_memory = false};
    return plan_sandbox(&work, request, false, &source, err);
}

struct insert {
    const struct sandbox_create *request;
    const struct source *source;
    struct work *work;
    const struct buffer *envs_sealed;
    uint32_t avoid_host;                           /* failed just now; 0: none */
    bool may_claim;                                /* a warm instance */
    bool may_remember;                             /* start from the memory of the version */
    struct warm_instance warm;                     /* the claimed one; name "": none */
    struct volume_mount mounts[VOLUME_MOUNTS_MAX]; /* the request's, found */
};

static int hold_checkpoint(struct db *db, const struct insert *insert, uint32_t *host_id,
                           struct error **err)
{
    if (checkpoint_hold(db, insert->source->checkpoint.id, host_id, err) == 0)
        return 0;
    if (!error_clear_if(err, ERR_NOT_FOUND))
        return -1;
    return source_no_checkpoint(insert->request->source_field, err);
}

/* Replace "no room" by the real cause when the host is lost, so that the client knows how long to
 * wait. Messages of the storage or the new host are for operators. */
static int explain_lost(struct db *db, const struct sandbox *sandbox, struct error **err)
{
    bool lost = false;
    char failure[MOVE_FAILURE_SIZE];
    error_auto unknown = NULL;
    if ((*err)->code != ERR_NO_CAPACITY ||
        host_is_lost(db, sandbox->host_id, &lost, &unknown) < 0 || !lost ||
        move_failure(db, sandbox->snapshot_id, failure, &unknown) < 0)
        return -1;
    unsigned retry_after_s = (*err)->retry_after_s;
    bool damaged = str_starts_with(failure, ARCHIVE_COPY);
    error_clear(err);
    error_set(err, ERR_NO_CAPACITY, "The host of the checkpoint is lost, and the checkpoint %s%s%s",
              *failure ? "could not be fetched from the archive"
                       : "is not on another host yet, or no host has room for it",
              damaged ? ": " : "; try again soon.", damaged ? failure : "");
    (*err)->retry_after_s = retry_after_s;
    return -1;
}

/* Place the sandbox on the host that has the checkpoint. The checkpoint cannot be deleted or move
 * before the row exists. */
static int place_restored(struct db *db, struct insert *insert, uint32_t only_host,
                          struct error **err)
{
    struct sandbox *sandbox = &insert->work->sandbox;
    if (hold_checkpoint(db, insert, &sandbox->host_id, err) < 0)
        return -1;
    if (only_host && only_host != sandbox->host_id)
        return error_set_field(err, ERR_INVALID_REQUEST, "/volume_mounts",
                               "The volumes are on another host than the checkpoint.");
    if (host_place_on(db, sandbox->host_id, &sandbox->resources, true, sandbox->instance_name,
                      &sandbox->address, err) < 0)
        return explain_lost(db, sandbox, err);
    sandbox->counted.by_host = true;
    return 0;
}

/* Check whether the sandbox may get a warm instance. Those of a version that starts from memory
 * have continued this memory. */
static bool may_be_warm(const struct source *source)
{
    return source->checkpoint.id[0] ? source->from_memory
                                    : source->version.start != TEMPLATE_START_MEMORY;
}

/* Count the warm instances that the create leaves to others. */
static uint32_t kept_warm(const struct insert *insert)
{
    const struct work *work = insert->work;
    bool leaves = insert->request->leaves_warm &&
                  !str_equal(insert->source->version.owner, work->sandbox.team_id);
    return leaves ? warm_kept(work->worker->settings) : 0;
}

/* Claim a warm instance for the sandbox, if there is one. only_host: the host of the volumes; 0:
 * any. */
static int claim(struct db *db, struct insert *insert, uint32_t only_host, struct error **err)
{
    struct sandbox *sandbox = &insert->work->sandbox;
    struct warm_instance *warm = &insert->warm;
    *warm = (struct warm_instance){0};
    snprintf(sandbox->instance_name, sizeof sandbox->instance_name, "sbx-%s", sandbox->id + 4);
    if (!insert->may_claim || !may_be_warm(insert->source))
        return 0;
    /* A virtual machine has the size that it was started with. */
    if (warm_claim(db, sandbox->template_version_id, &sandbox->resources, !sandbox->virtual_machine,
                   only_host, kept_warm(insert), warm, err) < 0)
        return -1;
    if (!warm->name[0])
        return 0;
    memcpy(sandbox->instance_name, warm->name, sizeof sandbox->instance_name);
    sandbox->host_id = warm->host_id;
    sandbox->address = warm->address;
    sandbox->agent_key_id = warm->agent_key_id;
    return 0;
}

/* Choose a host with room and a new address on it. */
static int place(struct db *db, struct insert *insert, uint32_t only_host, struct error **err)
{
    struct sandbox *sandbox = &insert->work->sandbox;
    if (insert->source->checkpoint.id[0])
        return place_restored(db, insert, only_host, err);
    if (host_place(db, sandbox->template_version_id, &sandbox->resources, only_host,
                   insert->avoid_host, sandbox->instance_name, &sandbox->host_id, &sandbox->address,
                   err) < 0)
        return -1;
    sandbox->counted.by_host = true;
    return 0;
}

/* Without a warm instance, host and address are chosen together with the room. */
static int reserve_first(struct db *db, struct insert *insert, uint32_t only_host,
                         struct error **err)
{
    if (insert->warm.name[0])
        return 0;
    return reservation_take_quota(db, &insert->work->sandbox, err) < 0 ||
                   place(db, insert, only_host, err) < 0
               ? -1
               : 0;
}

/* With a warm instance host and address are known, so the last statement locks the rows for which
 * other creates wait. If it refuses, the separate checks find the reason. */
static int reserve_last(struct db *db, struct insert *insert, struct error **err)
{
    struct sandbox *sandbox = &insert->work->sandbox;
    bool taken = false;
    if (!insert->warm.name[0])
        return *sandbox->snapshot_id ? 0
                                     : template_version_hold(db, sandbox->template_version_id, err);
    if (reservation_take_all(db, sandbox, &taken, err) < 0)
        return -1;
    if (taken)
        return 0;
    if (reservation_take_quota(db, sandbox, err) < 0 ||
        host_reserve_new(db, sandbox->host_id, &sandbox->resources, err) < 0 ||
        template_version_hold(db, sandbox->template_version_id, err) < 0)
        return -1;
    sandbox->counted.by_host = true;
    return 0;
}

/* Reserve quota, host and address, and write the row that holds all three. From then on the rows of
 * the team and of the host are locked until the end. Work that needs no lock comes first. */
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
    if (volume_mounts_lock(db, sandbox->team_id, insert->mounts, request->mount_count, &only_host,
                           err) < 0 ||
        claim(db, insert, only_host, err) < 0 ||
        operation_begin(db, sandbox, work->queued ? OPERATION_FORK : OPERATION_CREATE,
                        work->queued ? NULL : work->worker->lease_owner,
                        work->worker->settings->lease_s, &work->operation, err) < 0 ||
        (work->queued && operation_set_turn(db, &work->operation, request->turn, err) < 0))
        return -1;
    if (request->claim && request->claim(db, sandbox->id, request->claim_context, err) < 0)
        return -1;
    if (reserve_first(db, insert, only_host, err) < 0 ||
        sandbox_row_insert(db, sandbox, insert->envs_sealed, err) < 0 ||
        sandbox_tell_created(db, sandbox, err) < 0 ||
        volume_mounts_attach(db, sandbox->team_id, sandbox->id, insert->mounts,
                             request->mount_count, err) < 0 ||
        egress_profile_follow(db, sandbox->id, sandbox->network, true, err) < 0 ||
        egress_rules_follow(db, sandbox->team_id, sandbox->id, sandbox->network, true, err) < 0 ||
        (assignment_updates_incus_later(sandbox, &insert->warm, request->mount_count) &&
         sandbox_size_owe(db, sandbox->id, err) < 0) ||
        denied_names_follow(db, sandbox->team_id, sandbox->id, sandbox->network, true,
                            (unsigned)work->worker->settings->denied_names_per_team, err) < 0 ||
        reserve_last(db, insert, err) < 0)
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

/* Create the instance, and begin the time for its agent again: the wait for the agent of an earlier
 * instance may have used it up. */
static int make(struct work *work, const struct runtime_instance *instance, struct error **err)
{
    if (work->runtime->ops->create(work->runtime, instance, err) < 0)
        return -1;
    work->agent_until = (struct deadline){0};
    fault_point(FAULT_CREATE_STARTED);
    return 0;
}

/* Make one attempt. An instance that was made step by step has a snapshot of the memory. For a fork
 * it stays until the fork's checkpoint is deleted, so that no client waits for its deletion. */
static int go_on(struct work *work, const struct runtime_instance *instance,
                 const struct checkpoint *checkpoint, struct error **err)
{
    const struct former_agent former = {checkpoint->agent_instance, checkpoint->agent_key_id};
    struct runtime *runtime = work->runtime;
    if (make(work, instance, err) < 0 ||
        work_succeed_agent(work, &former, work_start_wait_ms(work), err) < 0)
        return -1;
    return !instance->step_by_step || checkpoint->for_fork
               ? 0
               : runtime->ops->memory->snapshot_drop(runtime, instance->name,
                                                     RUNTIME_MEMORY_SNAPSHOT, err);
}

/* When the host has started the sandbox from its disk, make it again, step by step. */
static int start_from_memory(struct work *work, struct runtime_instance *instance,
                             const struct checkpoint *checkpoint, struct error **err)
{
    snprintf(work->sandbox.resumed_from, sizeof work->sandbox.resumed_from, "memory");
    if (go_on(work, instance, checkpoint, err) == 0)
        return 0;
    if ((*err)->code != ERR_MEMORY_NOT_KEPT)
        return -1;
    log_info("cannot start a sandbox from memory in one step; trying it step by step",
             SANDBOX_LOG(&work->sandbox), LOG_ERROR(*err));
    error_clear(err);
    instance->step_by_step = true;
    if (work->runtime->ops->destroy(work->runtime, instance->name, err) < 0)
        return -1;
    if (go_on(work, instance, checkpoint, err) == 0)
        return 0;
    return (*err)->code == ERR_MEMORY_NOT_KEPT ? error_recode(err, ERR_RUNTIME_FAILED) : -1;
}

static int start_cold(struct work *work, const struct source *from, const struct mount_list *list,
                      struct error **err)
{
    struct sandbox *sandbox = &work->sandbox;
    char address[IPV4_TEXT_SIZE], source[CHECKPOINT_SOURCE_SIZE];
    if (from->checkpoint.id[0])
        checkpoint_source(&from->checkpoint, source);
    else
        runtime_source_name(sandbox->template_version_id, source);
    struct runtime_instance instance = {
        .name = sandbox->instance_name,
        .address = ipv4_format(sandbox->address, address),
        .source = source,
        .sandbox_id = sandbox->id,
        .virtual_machine = sandbox->virtual_machine,
        .net_admin = from->version.net_admin,
        .resources = sandbox->resources,
        .mounts = list->mounts,
        .mount_count = list->count,
        .with_memory = from->checkpoint.memory,
    };
    if (instance.with_memory)
        return start_from_memory(work, &instance, &from->checkpoint, err);
    if (make(work, &instance, err) < 0)
        return -1;
    int result = work_init_agent(work, work_start_wait_ms(work), err);
    if (result == 0)
        failed_start_forget(work->worker, sandbox->team_id, source_id(from));
    else if ((*err)->code == ERR_RUNTIME_UNAVAILABLE)
        failed_start_note(work->worker, sandbox->team_id, source_id(from));
    return result < 0 ? -1 : assignment_wait(work, err);
}

static int take_warm(struct work *work, const struct warm_instance *warm, const struct source *from,
                     const struct mount_list *list, struct error **err)
{
    const struct former_agent former = {from->checkpoint.agent_instance,
                                        from->checkpoint.agent_key_id};
    if (from->from_memory)
        snprintf(work->sandbox.resumed_from, sizeof work->sandbox.resumed_from, "memory");
    return assignment_make(work, warm, from->from_memory ? &former : NULL, list->mounts,
                           list->count, err);
}

/* The firewall takes the policy while the agent of a warm instance gets ready, or a copy is made.
 * Until it has the policy, no packet goes in or out. */
static int start(struct work *work, const struct warm_instance *warm, const struct source *from,
                 const struct mount_list *list, struct error **err)
{
    assignment_plan(work, warm, list->mounts, list->count);
    work_network_begin(work);
    if (!warm->name[0])
        work_network_tell(work);
    int result =
        warm->name[0] ? take_warm(work, warm, from, list, err) : start_cold(work, from, list, err);
    error_auto ignored = NULL;
    /* When the host cannot be reached, its firewall cannot either, and work_network_end() waits
     * once more. The lease must last. */
    if (result < 0)
        lease_check(&work->lease, &ignored);
    work_network_end(work);
    fault_point(FAULT_CREATE_NETWORK);
    return result;
}

/* Do all checks that need no locks, and write the rows. */
static int insert_rows(struct work *work, struct insert *insert, struct source *source,
                       struct error **err)
{
    buffer_auto envs_sealed = BUFFER_INIT(SANDBOX_ENVS_MAX);
    const struct sandbox_create *request = insert->request;
    insert->envs_sealed = &envs_sealed;
    if (plan_sandbox(work, request, insert->may_remember, source, err) < 0 ||
        failed_start_check(work->worker, work->sandbox.team_id, source_id(source), err) < 0 ||
        seal_envs(work->worker, request, work->sandbox.id, &envs_sealed, err) < 0)
        return -1;
    fault_point(FAULT_CREATE_PLANNED);
    if (db_transaction(work->worker->db, insert_body, insert, err) == 0)
        return 0;
    return error_is_transient(*err) ? work_public_error(work, err) : -1;
}

/* Make one attempt. avoid_host: the host of the last failure; 0: none.
 *
 * *was_short: in, whether it may claim a warm instance or start from the memory of the version;
 * out, whether it did, so that another attempt without either may succeed. */
static int attempt(struct work *work, const struct sandbox_create *request, uint32_t avoid_host,
                   bool *was_short, struct error **err)
{
    struct worker *worker = work->worker;
    struct mount_list list;
    struct source source = {.from_memory = false};
    struct insert insert = {.request = request,
                            .source = &source,
                            .work = work,
                            .avoid_host = avoid_host,
                            .may_claim = *was_short,
                            .may_remember = *was_short};
    int inserted = insert_rows(work, &insert, &source, err);
    *was_short = source.from_memory ||
                 (insert.warm.name[0] && (inserted == 0 || (*err)->code == ERR_NO_CAPACITY));
    if (inserted < 0)
        return -1;
    work_start(work, worker);
    fault_point(FAULT_CREATE_INSERTED);
    mount_list_fill(&list, insert.mounts, request->mount_count);
    if (work_open_runtime(work, err) < 0 || work_fence_volumes(work, err) < 0 ||
        start(work, &insert.warm, &source, &list, err) < 0)
        return work_undo_create(work, err);
    fault_point(FAULT_CREATE_AGENT);
    work->settle = request->made;
    work->settle_context = request->claim_context;
    if (work_finish(work, SANDBOX_EVENT_CREATED, NULL, err) < 0)
        return work_undo_create(work, err);
    fault_point(FAULT_CREATE_FINISHED);
    return 0;
}

int sandbox_create_queued(struct worker *worker, const struct sandbox_create *request,
                          struct sandbox *sandbox, struct error **err)
{
    work_auto work = {.worker = worker, .queued = true};
    struct source source;
    struct insert insert = {.request = request, .source = &source, .work = &work};
    if (insert_rows(&work, &insert, &source, err) < 0) {
        sandbox_tell_refused(worker->db, request->team->id, *err);
        return -1;
    }
    *sandbox = work.sandbox;
    work.sandbox = (struct sandbox){0};
    return 0;
}

int work_start_from(struct work *work, const struct checkpoint *checkpoint,
                    const struct mount_list *mounts, struct error **err)
{
    const struct warm_instance not_warm = {.name = ""};
    struct source source = {.checkpoint = *checkpoint};
    if (template_version_get(work->worker->db, work->sandbox.template_version_id, &source.version,
                             err) < 0)
        return -1;
    return start(work, &not_warm, &source, mounts, err);
}

/* A fork whose hook runs has started. Tell the firewall its policy again, so that the row gets the
 * result. */
static int start_fork(struct work *work, struct error **err)
{
    const struct mount_list no_mounts = {.count = 0};
    struct checkpoint checkpoint;
    if (checkpoint_get_any(work->worker->db, work->sandbox.snapshot_id, false, &checkpoint, err) <
            0 ||
        work_open_runtime(work, err) < 0)
        return -1;
    if (!work->operation.hook_since_ms)
        return work_start_from(work, &checkpoint, &no_mounts, err) < 0
                   ? -1
                   : work_run_hook(work, HOOK_AFTER_FORK, err);
    if (checkpoint.memory)
        snprintf(work->sandbox.resumed_from, sizeof work->sandbox.resumed_from, "memory");
    return work_run_hook(work, HOOK_AFTER_FORK, err) < 0 ? -1 : work_network_resume(work, err);
}

int work_run_fork(struct work *work, struct error **err)
{
    error_auto failure = NULL;
    if (start_fork(work, &failure) == 0 &&
        work_finish(work, SANDBOX_EVENT_CREATED, NULL, &failure) == 0) {
        COUNT(COUNT_CREATES, "cold");
        fault_point(FAULT_CREATE_FINISHED);
        return 0;
    }
    if (failure->code == ERR_HOOK_RUNS)
        return work_await_hook(work, err);
    /* The cause may be a short trouble of the host. */
    if (failure->code != ERR_LEASE_LOST && failure->code != ERR_HOOK_FAILED &&
        work->operation.attempts < FORK_ATTEMPTS) {
        work_defer(work, failure);
        return error_move(err, &failure);
    }
    work_undo_create(work, &failure);
    return error_move(err, &failure);
}

/* Another process ended the create before it was done: a client that saw the sandbox in the list
 * deleted it, or a dispatcher found that it took too long. */
static int ended_by_others(const struct work *work, struct error **err)
{
    bool late = clock_monotonic_ms() >= work->lease.lost_at_ms;
    error_clear(err);
    if (late)
        return error_set(err, ERR_RUNTIME_UNAVAILABLE,
                         "The create took too long and was undone; try again.");
    return error_set(err, ERR_SANDBOX_BUSY, "The sandbox was deleted during its create.");
}

/* The mount point cannot be made on the disk of the source. The request chose both, so the error
 * names the mount. */
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
                           "Sandboxes cannot start from this disk: %s.", failure->message);
}

/* Check whether gathering may help, and has steps left. */
static bool may_gather(const struct gathering *gathering, unsigned steps,
                       const struct error *refusal)
{
    bool may_help = false;
    error_auto failure = NULL;
    unsigned most = gathering->request->mount_count ? GATHER_STEPS : 1;
    if (steps < most && sandbox_gather_may_help(gathering, refusal, &may_help, &failure) < 0)
        log_warning(
            "cannot check whether another host has room for a sandbox; the create is refused",
            LOG_STR("team", gathering->request->team->id), LOG_ERROR(failure));
    return may_help;
}

/* Refuse, because the request does not wait for a copy or for room. Nothing has begun. */
static int copy_first(struct error **err)
{
    error_clear(err);
    return error_set(err, ERR_COPY_FIRST,
                     "The sandbox's source is being copied to a host with room.");
}

/* Take one step of gathering. A failure here is only logged: the client gets the refusal of the
 * create. */
static bool gathers(const struct gathering *gathering, int64_t give_up_ms)
{
    bool gathered = false;
    error_auto failure = NULL;
    if (sandbox_gather(gathering, give_up_ms, &gathered, &failure) < 0)
        log_warning(
            "cannot copy the source of a new sandbox to a host with room; the create is refused",
            LOG_STR("team", gathering->request->team->id), LOG_ERROR(failure));
    return gathered;
}

/* The attempts of one request, and until when it may try the rest (monotonic). */
struct tries {
    int64_t elsewhere_by_ms, room_by_ms;
    uint32_t avoid_host; /* of the last failed attempt; 0: none */
    bool elsewhere;      /* has left a host that cannot be reached; this happens once */
    unsigned gather_steps;
    bool refused; /* the runtime has refused an attempt */
};

/* Check whether deleted sandboxes are about to give back the room or quota that the create lacks,
 * and time is left. */
static bool room_is_coming(struct worker *worker, const struct sandbox_create *request,
                           const struct error *refusal, const struct tries *tries)
{
    bool coming = false;
    error_auto failure = NULL;
    if (clock_monotonic_ms() < tries->room_by_ms &&
        sandbox_room_is_coming(worker->db, request->team->id, refusal, &coming, &failure) < 0)
        log_warning(
            "cannot check whether deleted sandboxes make room for a new one; the create is refused",
            LOG_STR("team", request->team->id), LOG_ERROR(failure));
    return coming;
}

/* Check whether no host is large enough any more. A template or a checkpoint may be older than the
 * removal of a larger host. */
static bool no_host_is_so_large(const struct work *work, const struct sandbox_create *request,
                                struct error **err)
{
    const struct runtime_resources *resources = &work->sandbox.resources;
    const char *field = request->source_field ? request->source_field : "/template";
    error_auto too_large = NULL;
    if ((*err)->code != ERR_NO_CAPACITY ||
        host_check_size(work->worker->db, resources->cpu, resources->memory_mb, field, field,
                        &too_large) == 0 ||
        too_large->code != ERR_INVALID_REQUEST)
        return false;
    error_clear(err);
    error_move(err, &too_large);
    return true;
}

/* Copy the source to a host with room, or wait for the room of deleted sandboxes. *again: the
 * create may succeed now. Errors: ERR_COPY_FIRST. */
static int find_room(struct work *work, const struct sandbox_create *request, struct tries *tries,
                     bool *again, struct error **err)
{
    struct worker *worker = work->worker;
    if (no_host_is_so_large(work, request, err))
        return -1;
    const struct gathering gathering = {worker, request, &work->sandbox};
    bool gathers_here = may_gather(&gathering, tries->gather_steps, *err);
    bool waits = !gathers_here && room_is_coming(worker, request, *err, tries);
    if ((gathers_here || waits) && request->no_copying)
        return copy_first(err);
    tries->gather_steps += gathers_here;
    *again = gathers_here && gathers(&gathering, tries->elsewhere_by_ms);
    waits = waits || (gathers_here && !*again && room_is_coming(worker, request, *err, tries));
    if (!waits)
        return 0;
    *again = true;
    error_clear(err);
    return sandbox_room_step(worker, err);
}

/* Decide after a failed attempt. *again: try once more; if not, the error is that of the create.
 * *may_short: in, whether the attempt took the short way; out, whether the next one may take it. */
static int plan_another(struct work *work, const struct sandbox_create *request,
                        struct tries *tries, bool *may_short, bool *again, struct error **err)
{
    enum error_code code = (*err)->code;
    bool elsewhere = !tries->elsewhere && work->operation.id[0] &&
                     clock_monotonic_ms() < tries->elsewhere_by_ms && work_lacks_host(work, *err);
    if (elsewhere) {
        tries->elsewhere = true;
        tries->avoid_host = work->sandbox.host_id;
    }
    /* A dead warm instance, an unreachable host, or memory that cannot be restored is no reason to
     * fail the create. */
    *again = *may_short || elsewhere;
    *may_short = false;
    if (*again)
        return 0;
    if (find_room(work, request, tries, again, err) < 0)
        return -1;
    *may_short = *again;
    if (*again)
        return 0;
    /* The cause may be the address of the instance, or its host: try once more, on another host if
     * one has room. A host that starts nothing has the most free memory. */
    *again = !tries->refused && (code == ERR_RUNTIME_REFUSED || code == ERR_RUNTIME_FAILED);
    tries->refused = *again;
    if (*again)
        tries->avoid_host = work->sandbox.host_id;
    return 0;
}

int sandbox_create(struct worker *worker, const struct sandbox_create *request,
                   struct sandbox *sandbox, struct error **err)
{
    int64_t now_ms = clock_monotonic_ms();
    struct tries tries = {.elsewhere_by_ms = now_ms + ELSEWHERE_MOST_MS,
                          .room_by_ms = now_ms + SANDBOX_ROOM_WAIT_MS};
    for (bool may_short = true, again;;) {
        work_auto work = {.worker = worker};
        if (work_wait_for_turn(&work, err) < 0)
            return work_public_error(&work, err);
        int result = attempt(&work, request, tries.avoid_host, &may_short, err);
        notify_send(worker->settings->api_socket, NOTIFY_POOL);
        if (result == 0) {
            COUNT(COUNT_CREATES, warm_names(work.sandbox.instance_name) ? "warm" : "cold");
            *sandbox = work.sandbox;
            work.sandbox = (struct sandbox){0};
            return 0;
        }
        if ((*err)->code == ERR_LEASE_LOST)
            return ended_by_others(&work, err);
        if ((*err)->code == ERR_MOUNT_POINT)
            return bad_mount_point(request, err);
        if (plan_another(&work, request, &tries, &may_short, &again, err) < 0)
            return -1;
        if (!again) {
            sandbox_tell_refused(worker->db, request->team->id, *err);
            return work_public_error(&work, err);
        }
        error_clear(err);
    }
}
