/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Build the template versions that the API has requested, and remove deleted ones. A version
 * becomes ready after a trial: a sandbox was started from its source, and its agent answered.
 */
#include "template/template_build.h"

#include "base/fault_point.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/notify.h"
#include "checkpoint/checkpoint_move.h"
#include "host/host.h"
#include "template/template_row.h"
#include "template/template_source.h"
#include "template/template_trial.h"

#define ATTEMPTS_MOST     8
#define CAPACITY_DELAY_MS 5000

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

static void leave_out_host(void *context, const struct host *host, const struct error *why)
{
    autofree char *line = xasprintf("host %s is left out, because it cannot copy the template from "
                                    "another host: %s",
                                    host->name, why->message);
    say(context, line);
}

/* --- the trial --- */

static int try_out(struct building *building, uint32_t host_id, struct error **err)
{
    struct worker *worker = building->worker;
    struct runtime *runtime;
    struct template_trial trial = {
        .db = worker->db,
        .runtimes = worker->runtimes,
        .settings = worker->settings,
        .version = &building->version,
        .host_id = host_id,
        .tick = renew,
        .context = building,
    };
    if (runtimes_get(worker->runtimes, worker->db, host_id, &runtime, err) < 0 ||
        take_runtime(building, runtime, err) < 0)
        return -1;
    return template_trial_run(&trial, runtime, err);
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
    if (!error_clear_if(err, ERR_HOST_LOST))
        return -1;
    if (checkpoint_leave_lost_host(worker, checkpoint->id, &going, err) < 0)
        return -1;
    return error_set(
        err, ERR_NO_CAPACITY,
        going ? "the checkpoint's host is lost; fetching the checkpoint from the archive"
              : "the checkpoint's host is lost, and the archive has no copy of the checkpoint");
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
        return xstrdup("copying the disk with the results of the steps");
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
    autofree char *begin = describe_origin(&building->version);
    fault_point(FAULT_BUILD_TAKEN);
    say(building, begin);
    if (build_source(building, err) < 0)
        return -1;
    fault_point(FAULT_BUILD_COPIED);
    say(building, "starting a trial sandbox from the template");
    return try_out(building, building->sources.hosts[building->sources.host_count - 1], err);
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
    return template_trial_end(worker->db, runtime, orphan->version, err);
}

/* Remove the sources from every host. While a host cannot be reached, the version stays in its
 * state. */
static int remove_sources(struct worker *worker, const struct template_version *version,
                          struct error **err)
{
    struct orphan orphan = {worker, version};
    error_auto failure = NULL;
    int result = hosts_try_each(worker->db, end_trial_on, &orphan, &failure);
    if (template_sources_remove(worker->db, worker->runtimes, version->id, err) < 0)
        return -1;
    return result < 0 ? error_move(err, &failure) : 0;
}

static void clean_up(struct building *building)
{
    error_auto err = NULL;
    if (remove_sources(building->worker, &building->version, &err) < 0)
        log_warning("cannot delete the sources of a template version; the sweep tries again",
                    LOG_STR("version", building->version.id), LOG_ERROR(err));
}

/* Write the row first: if the answer to an earlier COMMIT was lost, the version is ready, and its
 * sources stay. */
static int finish(struct building *building, bool ready, struct error **err)
{
    struct result result = {building, ready};
    say(building, !ready                                              ? "failed"
                  : building->version.start == TEMPLATE_START_PENDING ? "copied"
                                                                      : "ready");
    fault_point(FAULT_BUILD_FINISHING);
    if (db_transaction(building->worker->db, finish_body, &result, err) < 0)
        return -1;
    if (!ready)
        clean_up(building);
    return 0;
}

static int settle_failure(struct building *building, struct error **failure, struct error **err)
{
    struct worker *worker = building->worker;
    const struct error *reason = *failure;
    bool later = error_is_transient(reason) || reason->code == ERR_NO_CAPACITY;
    if (reason->code == ERR_LEASE_LOST) { /* deleted, or another dispatcher has built it */
        error_auto gone = NULL;
        struct template_version now;
        if (template_version_get(worker->db, building->version.id, &now, &gone) == 0 &&
            now.state != TEMPLATE_BUILDING && now.state != TEMPLATE_READY)
            clean_up(building);
        return error_move(err, failure);
    }
    autofree char *line = xasprintf("error: %s", reason->message);
    say(building, line);
    if (later && building->attempts < ATTEMPTS_MOST) {
        say(building, "sandlot tries again soon");
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
        .left_out = leave_out_host,
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
        error_set(&failure, ERR_RUNTIME_REFUSED, "every attempt was interrupted before its end");
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
