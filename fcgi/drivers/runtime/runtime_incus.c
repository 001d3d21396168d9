/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Open a host, prepare it, and list its instances. */
#include "runtime/runtime_incus.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"

/* Longest that another caller's operation is waited for: a pause of much memory. */
#define TURNS_MOST_MS (180 * 1000)
#define TURN_WAIT_MS  100
/* Longest that a call which has waited waits until it counts as a start again. */
#define START_TURN_MOST_MS (30 * 1000)

struct runtime_turns runtime_turns_begin(void)
{
    return (struct runtime_turns){.give_up_ms = clock_monotonic_ms() + TURNS_MOST_MS};
}

int runtime_turn(struct runtime_incus *runtime, struct runtime_turns *turns, struct error **err)
{
    if (clock_monotonic_ms() > turns->give_up_ms)
        return *err
                   ? -1
                   : error_set(
                         err, ERR_RUNTIME_REFUSED,
                         "the instance changed its state several times during the call; try again");
    error_clear(err);
    return runtime_rest(runtime, TURN_WAIT_MS, err);
}

int runtime_rest(struct runtime_incus *runtime, unsigned wait_ms, struct error **err)
{
    struct pool *pool = runtime->base.pool;
    int64_t give_up_ms = clock_monotonic_ms() + wait_ms + START_TURN_MOST_MS;
    pool_suspend_start(pool);
    do {
        if (incus_idle(runtime->incus, wait_ms, err) < 0)
            return -1;
        wait_ms = TURN_WAIT_MS;
    } while (!pool_resume_start(pool) && clock_monotonic_ms() < give_up_ms);
    return pool_resume_start(pool)
               ? 0
               : error_set(err, ERR_RUNTIME_UNAVAILABLE,
                           "the call waits until fewer other sandboxes are starting");
}

int runtime_patch(struct runtime_incus *runtime, const char *name, json_t *config, json_t *devices,
                  struct error **err)
{
    struct runtime_turns turns = runtime_turns_begin();
    while (incus_instance_patch(runtime->incus, name, config, devices, err) < 0)
        if (incus_last_error(runtime->incus) != INCUS_ERROR_BUSY ||
            runtime_turn(runtime, &turns, err) < 0)
            return -1;
    return 0;
}

int runtime_look(struct runtime_incus *runtime, const char *name, struct incus_instance *instance,
                 enum runtime_status *status, struct error **err)
{
    incus_instance_auto own = {0};
    struct incus_instance *found = instance ? instance : &own;
    if (incus_instance_get(runtime->incus, name, found, err) == 0) {
        *status = runtime_status_of(found);
        return 0;
    }
    if (!error_clear_if(err, ERR_NOT_FOUND))
        return -1;
    *status = RUNTIME_ABSENT;
    return 0;
}

static int prepare(struct runtime *base, struct error **err)
{
    struct runtime_incus *runtime = runtime_incus_of(base);
    json_auto_t *project = runtime_project_config();
    json_auto_t *devices = runtime_profile_devices(runtime->pool);
    json_auto_t *container = runtime_profile_config(false);
    json_auto_t *machine = runtime_profile_config(true);
    if (incus_project_ensure(runtime->incus, project, err) < 0)
        return -1;
    if (incus_profile_ensure(runtime->incus, RUNTIME_PROFILE, container, devices, err) < 0)
        return -1;
    return incus_profile_ensure(runtime->incus, RUNTIME_PROFILE_VM, machine, devices, err);
}

static int unprepare(struct runtime *base, struct error **err)
{
    const char *const profiles[] = {RUNTIME_PROFILE, RUNTIME_PROFILE_VM};
    return incus_project_remove(runtime_incus_of(base)->incus, profiles, ARRAY_SIZE(profiles), err);
}

static int inspect(struct runtime *base, const char *name, enum runtime_status *status,
                   struct error **err)
{
    struct runtime_incus *runtime = runtime_incus_of(base);
    bool busy;
    if (runtime_look(runtime, name, NULL, status, err) < 0)
        return -1;
    if (*status != RUNTIME_STOPPED && *status != RUNTIME_PAUSED)
        return 0;
    /* Incus calls it stopped from the beginning of a create or a start almost to its end. */
    if (incus_instance_busy(runtime->incus, name, &busy, err) < 0)
        return -1;
    if (busy)
        *status = RUNTIME_OTHER;
    return 0;
}

static int list_by_role(struct runtime *base, bool sandboxes, struct runtime_listing **out,
                        size_t *out_count, struct error **err)
{
    struct runtime_incus *runtime = runtime_incus_of(base);
    struct incus_instance *instances;
    size_t count, used = 0;
    if (incus_instance_list(runtime->incus, &instances, &count, err) < 0)
        return -1;
    struct runtime_listing *listing = xcalloc(count + 1, sizeof *listing);
    for (size_t i = 0; i < count; i++) {
        const char *role = incus_instance_config(&instances[i], RUNTIME_KEY_ROLE);
        bool is_sandbox = str_equal(role, "sandbox") || str_equal(role, RUNTIME_ROLE_MOVING);
        if (*role == '\0' || is_sandbox != sandboxes)
            continue;
        listing[used++] = (struct runtime_listing){
            .name = xstrdup(instances[i].name),
            .sandbox_id = xstrdup(incus_instance_config(&instances[i], RUNTIME_KEY_SANDBOX)),
            .status = runtime_status_of(&instances[i]),
            .created_at_ms = instances[i].created_at_ms,
        };
    }
    incus_instance_list_free(instances, count);
    *out = listing;
    *out_count = used;
    return 0;
}

static int list(struct runtime *base, struct runtime_listing **out, size_t *count,
                struct error **err)
{
    return list_by_role(base, true, out, count, err);
}

static int list_copies(struct runtime *base, struct runtime_listing **out, size_t *count,
                       struct error **err)
{
    return list_by_role(base, false, out, count, err);
}

static void close_runtime(struct runtime *base)
{
    struct runtime_incus *runtime = runtime_incus_of(base);
    incus_events_close(runtime->events);
    incus_close(runtime->incus);
    free(runtime->pool);
    free(runtime->nic_prefix);
    free(runtime);
}

static int listen_to(struct runtime *base, unsigned wait_ms, struct runtime_event *out,
                     struct error **err)
{
    static const enum runtime_event_kind kinds[] = {
        [INCUS_EVENT_OTHER] = RUNTIME_EVENT_NONE,
        [INCUS_EVENT_ENDED] = RUNTIME_EVENT_ENDED,
        [INCUS_EVENT_RESTARTED] = RUNTIME_EVENT_RESTARTED,
    };
    struct runtime_incus *runtime = runtime_incus_of(base);
    enum incus_heard heard;
    struct incus_event event;
    *out = (struct runtime_event){.kind = RUNTIME_EVENT_NONE};
    if (!runtime->events && incus_events_open(runtime->incus, &runtime->events, err) < 0)
        return -1;
    if (incus_events_next(runtime->events, wait_ms, &heard, &event, err) < 0) {
        incus_events_close(runtime->events);
        runtime->events = NULL;
        return -1;
    }
    if (heard == INCUS_HEARD_BEGIN) {
        out->kind = RUNTIME_EVENT_BEGIN;
    } else if (heard == INCUS_HEARD_EVENT) {
        out->kind = kinds[event.kind];
        memcpy(out->instance, event.instance, sizeof out->instance);
    }
    return 0;
}

/* The tick may be changed at any time in struct runtime, so the connection asks there. */
static int tick(void *context, struct error **err)
{
    struct runtime_incus *runtime = context;
    return runtime->base.tick ? runtime->base.tick(runtime->base.tick_context, err) : 0;
}

/* --- verbs: with the meaning of a failure for the whole verb --- */

static int conclude(struct runtime *base, unsigned orders_before, int result, struct error **err)
{
    if (result && (*err)->code == ERR_RUNTIME_UNAVAILABLE &&
        incus_orders_sent(runtime_incus_of(base)->incus) != orders_before)
        error_recode(err, ERR_OUTCOME_UNKNOWN);
    if (result && (*err)->code == ERR_RUNTIME_REFUSED &&
        incus_last_error(runtime_incus_of(base)->incus) == INCUS_ERROR_NO_SPACE)
        error_recode(err, ERR_INSUFFICIENT_STORAGE);
    if (result && (*err)->code == ERR_RUNTIME_REFUSED &&
        incus_last_error(runtime_incus_of(base)->incus) == INCUS_ERROR_POOL_CLOSED)
        error_recode(err, ERR_RUNTIME_UNAVAILABLE);
    return result;
}

static unsigned orders(struct runtime *base)
{
    return incus_orders_sent(runtime_incus_of(base)->incus);
}

static int build_source(struct runtime *base, const char *source, const char *image,
                        char **fingerprint, bool *virtual_machine, struct error **err)
{
    unsigned before = orders(base);
    return conclude(
        base, before,
        runtime_incus_build_source(base, source, image, fingerprint, virtual_machine, err), err);
}

static int create(struct runtime *base, const struct runtime_instance *instance, struct error **err)
{
    unsigned before = orders(base);
    int result = instance->with_memory ? runtime_incus_continue(base, instance, err)
                                       : runtime_incus_create(base, instance, err);
    return conclude(base, before, result, err);
}

static int adapt(struct runtime *base, const char *name, const struct runtime_resources *resources,
                 const struct runtime_mount *mounts, unsigned mount_count, struct error **err)
{
    unsigned before = orders(base);
    return conclude(base, before,
                    runtime_incus_adapt(base, name, resources, mounts, mount_count, err), err);
}

static int copy(struct runtime *base, const char *name, const char *copy, enum runtime_copy kind,
                const char *owner, uint32_t *size_mb, struct error **err)
{
    unsigned before = orders(base);
    return conclude(base, before, runtime_incus_copy(base, name, copy, kind, owner, size_mb, err),
                    err);
}

static int copy_memory(struct runtime *base, const char *name, const char *copy, const char *owner,
                       uint32_t *size_mb, struct error **err)
{
    unsigned before = orders(base);
    return conclude(base, before, runtime_incus_copy_memory(base, name, copy, owner, size_mb, err),
                    err);
}

static int undo_copy_memory(struct runtime *base, const char *name, const char *copy,
                            struct error **err)
{
    unsigned before = orders(base);
    return conclude(base, before, runtime_incus_undo_copy_memory(base, name, copy, err), err);
}

static int snapshot_memory(struct runtime *base, const char *name, const char *snapshot,
                           struct error **err)
{
    unsigned before = orders(base);
    return conclude(base, before, runtime_incus_snapshot_memory(base, name, snapshot, err), err);
}

static int snapshot_drop(struct runtime *base, const char *name, const char *snapshot,
                         struct error **err)
{
    unsigned before = orders(base);
    return conclude(base, before, runtime_incus_snapshot_drop(base, name, snapshot, err), err);
}

static int pause_instance(struct runtime *base, const char *name,
                          const struct runtime_resources *resources, enum runtime_pause how,
                          enum runtime_origin *origin, struct error **err)
{
    unsigned before = orders(base);
    return conclude(base, before, runtime_incus_pause(base, name, resources, how, origin, err),
                    err);
}

static int resume(struct runtime *base, const char *name, const struct runtime_resources *resources,
                  bool with_memory, enum runtime_origin *origin, struct error **err)
{
    unsigned before = orders(base);
    return conclude(base, before,
                    runtime_incus_resume(base, name, resources, with_memory, origin, err), err);
}

static int destroy(struct runtime *base, const char *name, struct error **err)
{
    unsigned before = orders(base);
    return conclude(base, before, runtime_incus_destroy(base, name, err), err);
}

static int receive(struct runtime *base, struct runtime *from, const char *name, const char *source,
                   struct error **err)
{
    unsigned before = orders(base);
    if (from->ops != base->ops)
        return error_set(err, ERR_RUNTIME_REFUSED,
                         "the two hosts have different runtimes, which cannot exchange instances");
    return conclude(base, before, runtime_incus_receive(base, from, name, source, err), err);
}

static int receive_source(struct runtime *base, struct runtime *from, const char *source,
                          struct error **err)
{
    unsigned before = orders(base);
    if (from->ops != base->ops)
        return error_set(err, ERR_RUNTIME_REFUSED,
                         "the two hosts have different runtimes, which cannot exchange instances");
    return conclude(base, before, runtime_incus_receive_source(base, from, source, err), err);
}

static int volume_create(struct runtime *base, const char *name, unsigned size_gb,
                         struct error **err)
{
    unsigned before = orders(base);
    return conclude(base, before, runtime_incus_volume_create(base, name, size_gb, err), err);
}

static int volume_delete(struct runtime *base, const char *name, struct error **err)
{
    unsigned before = orders(base);
    return conclude(base, before, runtime_incus_volume_delete(base, name, err), err);
}

static int import_object(struct runtime *base, enum runtime_object object, const char *name,
                         FILE *from, bool *made, struct error **err)
{
    unsigned before = orders(base);
    return conclude(base, before, runtime_incus_import(base, object, name, from, made, err), err);
}

static int take_in(struct runtime *base, const char *name, const char *token, FILE *from,
                   uint64_t size, struct error **err)
{
    unsigned before = orders(base);
    return conclude(base, before, runtime_incus_take_in(base, name, token, from, size, err), err);
}

static const struct runtime_memory_ops memory_ops = {
    .copy = copy_memory,
    .undo_copy = undo_copy_memory,
    .snapshot = snapshot_memory,
    .snapshot_drop = snapshot_drop,
};

static const struct runtime_volume_ops volume_ops = {
    .create = volume_create,
    .delete = volume_delete,
    .list = runtime_incus_volume_list,
    .keeper_start = runtime_incus_keeper_start,
    .keeper_mount = runtime_incus_keeper_mount,
    .keeper_unmount = runtime_incus_keeper_unmount,
};

static const struct runtime_transfer_ops transfer_ops = {
    .receive = receive,
    .receive_checkpoint = runtime_incus_receive_checkpoint,
    .receive_volume = runtime_incus_receive_volume,
    .receive_source = receive_source,
    .export_object = runtime_incus_export,
    .import_object = import_object,
    .take_in = take_in,
};

static const struct runtime_measure_ops measure_ops = {
    .instances = runtime_incus_measure,
    .disk = runtime_incus_measure_disk,
    .pool = runtime_incus_measure_pool,
    .console = runtime_incus_console,
    .memory_loss = runtime_incus_memory_loss,
};

static const struct runtime_event_ops event_ops = {
    .listen = listen_to,
};

static const struct runtime_ops incus_ops = {
    .memory = &memory_ops,
    .volume = &volume_ops,
    .transfer = &transfer_ops,
    .measure = &measure_ops,
    .event = &event_ops,
    .prepare = prepare,
    .build_source = build_source,
    .measure_source = runtime_incus_measure_source,
    .create = create,
    .adapt = adapt,
    .copy = copy,
    .inspect = inspect,
    .pause = pause_instance,
    .resume = resume,
    .destroy = destroy,
    .list = list,
    .list_copies = list_copies,
    .unprepare = unprepare,
    .close = close_runtime,
};

int runtime_incus_open(const struct runtime_host *host, struct runtime **out, struct error **err)
{
    size_t prefix_length = host->nic_prefix ? strlen(host->nic_prefix) : 0;
    if (!host->project || !host->pool || prefix_length < 1 || prefix_length > 2)
        return error_set(err, ERR_CONFIG,
                         "an Incus host needs a project, a storage pool, and a prefix of one or "
                         "two characters for its network interfaces");
    struct runtime_incus *runtime = xcalloc(1, sizeof *runtime);
    struct incus_options options = {
        .url = host->url,
        .project = host->project,
        .server_cert = host->server_cert,
        .client_cert_file = host->client_cert_file,
        .client_key_file = host->client_key_file,
        .tick = tick,
        .tick_context = runtime,
    };

    runtime->base.ops = &incus_ops;
    runtime->pool = xstrdup(host->pool);
    runtime->nic_prefix = xstrdup(host->nic_prefix);
    if (incus_open(&options, &runtime->incus, err) < 0) {
        close_runtime(&runtime->base);
        return -1;
    }
    *out = &runtime->base;
    return 0;
}
