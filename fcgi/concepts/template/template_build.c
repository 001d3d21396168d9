/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Build the template versions that the API has requested, and remove deleted ones. A version
 * becomes ready after a trial: a sandbox was started from its source, and its agent answered.
 */
#include "template/template_build.h"

#include <stdio.h>
#include <string.h>

#include "base/fault_point.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/notify.h"
#include "base/str.h"
#include "checkpoint/checkpoint_move.h"
#include "host/host.h"
#include "runtime/agent_client.h"
#include "template/template_row.h"
#include "template/template_source.h"
#include "template/warm_row.h"

#define ATTEMPTS_MOST     8
#define CAPACITY_DELAY_MS 5000
#define TRIAL_DISK_GB     1

struct building {
    struct worker *worker;
    struct template_version version;
    unsigned attempts;
    struct lease lease;
    struct runtime *runtime; /* the one that works for us, with our tick */
    struct template_sources sources;
};

/* --- log and leases --- */

/* Add a line to the build log. The build continues when this fails. */
static void say(struct building *building, const char *line)
{
    error_auto ignored = NULL;
    log_info("template build", LOG_STR("version", building->version.id), LOG_STR("step", line));
    template_row_log(building->worker->db, building->version.id, line, &ignored);
}

static int renew(void *context, struct error **err)
{
    struct building *building = context;
    return lease_tick(&building->lease, err);
}

static int take_runtime(struct building *building, struct runtime *runtime, struct error **err)
{
    if (building->runtime)
        building->runtime->tick = NULL;
    building->runtime = runtime;
    runtime->tick = renew;
    runtime->tick_context = building;
    return lease_check(&building->lease, err);
}

static int begin_host(void *context, const struct host *host, struct runtime *runtime,
                      struct error **err)
{
    (void)host;
    return take_runtime(context, runtime, err);
}

/* --- the trial --- */

/* One name for all attempts: the next one finds the leftovers of the last one. */
static void trial_name(const struct template_version *version, char name[INSTANCE_NAME_SIZE])
{
    snprintf(name, INSTANCE_NAME_SIZE, "try-%s", version->id + strlen("tpv_"));
}

int template_trial_knows(struct worker *worker, const char *instance_name, bool *known,
                         struct error **err)
{
    char id[ID_SIZE];
    *known = false;
    if (!str_starts_with(instance_name, "try-"))
        return 0;
    snprintf(id, sizeof id, "tpv_%s", instance_name + strlen("try-"));
    return id_is_valid("tpv_", id) ? template_row_uses_source(worker->db, id, known, err) : 0;
}

static int release_body(struct db *db, void *context, struct error **err)
{
    return host_address_release(db, 0, context, err);
}

static int end_trial(struct worker *worker, const struct template_version *version,
                     struct runtime *runtime, struct error **err)
{
    char name[INSTANCE_NAME_SIZE];
    trial_name(version, name);
    if (runtime->ops->destroy(runtime, name, err) < 0)
        return -1;
    return db_transaction(worker->db, release_body, name, err);
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

static int say_silent(struct runtime *runtime, const char *name, unsigned waited_s,
                      struct error **err)
{
    char tail[RUNTIME_CONSOLE_SIZE] = "";
    error_auto ignored = NULL;
    if (runtime->ops->measure->console(runtime, name, tail, &ignored) < 0)
        tail[0] = '\0';
    return error_set(err, ERR_RUNTIME_REFUSED,
                     "a sandbox was started from it and its agent did not answer within %u "
                     "seconds: the image must start sandlot-agent as root at boot%s%s",
                     waited_s, *tail ? "; its console ends with: " : "", tail);
}

static int start_trial(struct building *building, const char *source, struct placing *placing,
                       struct error **err)
{
    char address[IPV4_TEXT_SIZE];
    struct worker *worker = building->worker;
    struct runtime *runtime = building->runtime;
    struct agent_place at;
    struct runtime_instance instance = {
        .name = placing->name,
        .source = source,
        .sandbox_id = "",
        .virtual_machine = building->version.virtual_machine,
        .net_admin = building->version.net_admin,
        .resources = *placing->resources,
    };
    if (db_transaction(worker->db, place_body, placing, err) < 0 ||
        runtimes_agent(worker->runtimes, worker->db, placing->host_id, placing->address, &at, err) <
            0)
        return -1;
    instance.address = ipv4_format(placing->address, address);
    if (runtime->ops->create(runtime, &instance, err) < 0)
        return -1;
    fault_point(FAULT_BUILD_TRIED);
    unsigned wait_ms = worker_start_wait_ms(worker, instance.virtual_machine);
    if (agent_wait(&at, deadline_in_ms(wait_ms), renew, building, err) == 0)
        return 0;
    if ((*err)->code != ERR_RUNTIME_UNAVAILABLE && (*err)->code != ERR_RUNTIME_FAILED)
        return -1;
    error_clear(err);
    return say_silent(runtime, placing->name, wait_ms / 1000, err);
}

static int try_out(struct building *building, uint32_t host_id, const char *source,
                   struct error **err)
{
    char name[INSTANCE_NAME_SIZE];
    const struct template_version *version = &building->version;
    struct runtime_resources resources = {version->cpu, version->memory_mb, TRIAL_DISK_GB};
    struct placing placing = {.host_id = host_id, .resources = &resources, .name = name};
    error_auto second = NULL;
    trial_name(version, name);
    if (warm_row_disk_gb(building->worker->db, &resources.disk_gb, err) < 0 ||
        end_trial(building->worker, version, building->runtime, err) < 0)
        return -1;
    int result = start_trial(building, source, &placing, err);
    if (result < 0 && (*err)->code == ERR_LEASE_LOST)
        building->runtime->tick = NULL; /* our own trial is ours to delete */
    if (end_trial(building->worker, version, building->runtime, &second) == 0)
        return result;
    return result < 0 ? -1 : error_move(err, &second);
}

/* --- sources --- */

/* Open the host of the checkpoint. If that host is lost, the checkpoint is fetched to another one,
 * and the build is repeated later. */
static int open_host_of(struct building *building, const struct checkpoint *checkpoint,
                        struct runtime **runtime, struct error **err)
{
    struct worker *worker = building->worker;
    bool going;
    if (runtimes_get(worker->runtimes, worker->db, checkpoint->host_id, runtime, err) == 0)
        return 0;
    if ((*err)->code != ERR_HOST_LOST)
        return -1;
    error_clear(err);
    if (checkpoint_leave_lost_host(worker, checkpoint->id, &going, err) < 0)
        return -1;
    return error_set(err, ERR_NO_CAPACITY,
                     going ? "the checkpoint's host is lost, and it is being fetched from the "
                             "archive"
                           : "the checkpoint's host is lost, and no other has it");
}

/* The checkpoint cannot be deleted before the build has ended: its deletion checks for builds. */
static int build_from_checkpoint(struct building *building, struct error **err)
{
    struct worker *worker = building->worker;
    struct template_version *version = &building->version;
    struct template_sources *sources = &building->sources;
    struct checkpoint checkpoint;
    struct runtime *runtime;
    char source[INSTANCE_NAME_SIZE];
    if (checkpoint_get_any(worker->db, version->checkpoint_id, false, &checkpoint, err) < 0 ||
        open_host_of(building, &checkpoint, &runtime, err) < 0 ||
        take_runtime(building, runtime, err) < 0)
        return -1;
    runtime_source_name(version->id, source);
    version->virtual_machine = checkpoint.virtual_machine;
    if (runtime->ops->copy(runtime, checkpoint.instance_name, source, RUNTIME_SOURCE, version->id,
                           NULL, err) < 0)
        return -1;
    /* The storage pool accounts the shared data to the checkpoint, which may be deleted later, so
     * the version counts it too. */
    version->size_mb = checkpoint.size_mb;
    sources->hosts[sources->host_count++] = checkpoint.host_id;
    return 0;
}

/* Copy the disk of the sandbox in which the steps have run; recipe/ deletes that sandbox
 * afterwards. */
static int build_from_instance(struct building *building, struct error **err)
{
    struct worker *worker = building->worker;
    struct template_version *version = &building->version;
    struct template_sources *sources = &building->sources;
    struct runtime *runtime;
    char source[INSTANCE_NAME_SIZE];
    if (runtimes_get(worker->runtimes, worker->db, version->copied_host_id, &runtime, err) < 0 ||
        take_runtime(building, runtime, err) < 0)
        return -1;
    runtime_source_name(version->id, source);
    if (runtime->ops->copy(runtime, version->copied_instance, source, RUNTIME_SOURCE, version->id,
                           &version->size_mb, err) < 0)
        return -1;
    sources->hosts[sources->host_count++] = version->copied_host_id;
    return 0;
}

static char *describe_origin(const struct template_version *version)
{
    if (*version->copied_instance)
        return xstrdup("copying the disk that the steps have made");
    return *version->checkpoint_id
               ? xasprintf("copying the disk of checkpoint %s", version->checkpoint_id)
               : xasprintf("unpacking image %s", version->image);
}

static int build_source(struct building *building, struct error **err)
{
    if (*building->version.copied_instance)
        return build_from_instance(building, err);
    return *building->version.checkpoint_id ? build_from_checkpoint(building, err)
                                            : template_sources_build(&building->sources, err);
}

static int build(struct building *building, struct error **err)
{
    char source[INSTANCE_NAME_SIZE];
    autofree char *begin = describe_origin(&building->version);
    runtime_source_name(building->version.id, source);
    fault_point(FAULT_BUILD_TAKEN);
    say(building, begin);
    if (build_source(building, err) < 0)
        return -1;
    fault_point(FAULT_BUILD_COPIED);
    say(building, "starting a sandbox from it for a trial");
    /* The runtime of the last host is still open. */
    return try_out(building, building->sources.hosts[building->sources.host_count - 1], source,
                   err);
}

/* --- the end of a build --- */

struct result {
    struct building *building;
    bool ready;
};

static int finish_body(struct db *db, void *context, struct error **err)
{
    const struct result *result = context;
    const struct building *building = result->building;
    return template_sources_finish(db, building->worker->lease_owner, &building->sources,
                                   result->ready, err);
}

struct orphan {
    struct worker *worker;
    const struct template_version *version;
};

static int end_trial_on(void *context, const struct host *host, struct error **err)
{
    const struct orphan *orphan = context;
    struct worker *worker = orphan->worker;
    struct runtime *runtime;
    if (runtimes_get(worker->runtimes, worker->db, host->id, &runtime, err) < 0)
        return -1;
    return end_trial(worker, orphan->version, runtime, err);
}

/* Remove the sources from every host. While a host cannot be reached, the version stays in its
 * state. */
static int remove_sources(struct worker *worker, const struct template_version *version,
                          struct error **err)
{
    struct orphan orphan = {worker, version};
    if (hosts_each(worker->db, end_trial_on, &orphan, NULL, err) < 0)
        return -1;
    return template_sources_remove(worker->db, worker->runtimes, version->id, err);
}

static void clean_up(struct building *building)
{
    error_auto err = NULL;
    if (remove_sources(building->worker, &building->version, &err) < 0)
        log_warning("cannot delete the sources of a template version; the sweep tries again",
                    LOG_STR("version", building->version.id), LOG_ERROR(err));
}

static int finish(struct building *building, bool ready, struct error **err)
{
    struct result result = {building, ready};
    say(building, !ready                                              ? "failed"
                  : building->version.start == TEMPLATE_START_PENDING ? "copied"
                                                                      : "ready");
    if (!ready)
        clean_up(building);
    fault_point(FAULT_BUILD_FINISHING);
    return db_transaction(building->worker->db, finish_body, &result, err);
}

static int settle_failure(struct building *building, struct error **failure, struct error **err)
{
    struct worker *worker = building->worker;
    const struct error *reason = *failure;
    bool later = error_is_transient(reason) || reason->code == ERR_NO_CAPACITY;
    if (reason->code == ERR_LEASE_LOST) { /* deleted, or another dispatcher has it */
        error_auto gone = NULL;
        struct template_version now;
        if (template_version_get(worker->db, building->version.id, &now, &gone) == 0 &&
            now.state != TEMPLATE_BUILDING)
            clean_up(building);
        return error_move(err, failure);
    }
    autofree char *line = xasprintf("error: %s", reason->message);
    say(building, line);
    if (later && building->attempts < ATTEMPTS_MOST) {
        say(building, "it is tried again soon");
        return template_row_defer(
            worker->db, building->version.id, worker->lease_owner,
            reason->code == ERR_NO_CAPACITY ? CAPACITY_DELAY_MS : 1000u << building->attempts, err);
    }
    return finish(building, false, err);
}

int template_build_next(struct worker *worker, bool *worked, struct error **err)
{
    struct building building = {.worker = worker};
    building.sources = (struct template_sources){
        .db = worker->db,
        .runtimes = worker->runtimes,
        .version = &building.version,
        .begin = begin_host,
        .context = &building,
    };
    error_auto failure = NULL;
    *worked = false;
    if (template_row_take(worker->db, worker->lease_owner, worker->settings->lease_s,
                          &building.version, &building.attempts, err) < 0)
        return -1;
    if (!building.version.id[0])
        return 0;
    *worked = true;
    template_row_keep(worker->db, building.version.id, worker->lease_owner,
                      worker->settings->lease_s, &building.lease);
    int result = -1;
    if (building.attempts > ATTEMPTS_MOST)
        error_set(&failure, ERR_RUNTIME_REFUSED, "every attempt was cut short");
    else
        result = build(&building, &failure);
    if (building.runtime)
        building.runtime->tick = NULL;
    if (result == 0 && finish(&building, true, &failure) == 0) {
        notify_send(worker->settings->api_socket, NOTIFY_BUILDS); /* recipe/ ends its sandbox */
        return 0;
    }
    return settle_failure(&building, &failure, err);
}

/* --- deleted versions --- */

int template_remove_next(struct worker *worker, bool *worked, struct error **err)
{
    struct template_version version;
    *worked = false;
    if (template_row_take_deleting(worker->db, worker->settings->lease_s, &version, err) < 0)
        return -1;
    if (!version.id[0])
        return 0;
    *worked = true;
    if (remove_sources(worker, &version, err) < 0)
        return -1;
    fault_point(FAULT_BUILD_REMOVED);
    return template_row_deleted(worker->db, version.id, err);
}
