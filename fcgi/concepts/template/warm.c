/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "template/warm.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "checkpoint/checkpoint.h"
#include "host/host.h"
#include "host/host_idle.h"
#include "runtime/agent_client.h"
#include "template/template.h"
#include "template/warm_plan.h"
#include "template/warm_rest.h"
#include "template/warm_row.h"

/* --- removing --- */

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

/* Take an instance that leaves a host that answers. Instances of a host that cannot be reached wait
 * for it, and delay the pools of no other host. If *runtime is NULL, no instance was found. */
static int take_leaving(struct worker *worker, struct leaving *leaving, struct runtime **runtime,
                        struct error **err)
{
    for (;;) {
        *runtime = NULL;
        if (db_transaction(worker->db, take_leaving_body, leaving, err) < 0)
            return -1;
        if (!leaving->warm.name[0] ||
            runtimes_get(worker->runtimes, worker->db, leaving->warm.host_id, runtime, err) == 0)
            return 0;
        if (!error_clear_if(err, ERR_HOST_UNREACHABLE))
            return -1;
    }
}

static int remove_next(struct worker *worker, bool *worked, struct error **err)
{
    struct leaving leaving = {.lease_s = worker->settings->lease_s};
    struct runtime *runtime;
    if (take_leaving(worker, &leaving, &runtime, err) < 0)
        return -1;
    *worked = runtime;
    if (!*worked)
        return 0;
    if (runtime->ops->destroy(runtime, leaving.warm.name, err) < 0)
        return -1;
    return db_transaction(worker->db, forget_body, &leaving.warm, err);
}

/* --- adding --- */

#define NAME_PREFIX "warm-"
#define AVOID_MS    (5 * 60 * 1000)

bool warm_names(const char *instance_name)
{
    return str_starts_with(instance_name, NAME_PREFIX);
}

struct addition {
    struct worker *worker;
    const struct warm_want *want;
    struct warm_instance warm; /* name "": the pool is full, or no host has room */
    bool runs;                 /* its agent is awaited */
};

/* The host of the last start that failed. A host that starts nothing has the most free memory, so
 * the whole pool would wait for it. */
static struct {
    uint32_t host_id;
    int64_t until_ms; /* monotonic */
} failed;

static uint32_t failed_host(void)
{
    return clock_monotonic_ms() < failed.until_ms ? failed.host_id : 0;
}

/* Placing locks the host's row, so several dispatchers count one after the other. */
static int add_body(struct db *db, void *context, struct error **err)
{
    struct addition *addition = context;
    struct warm_instance *warm = &addition->warm;
    char id[ID_SIZE];
    unsigned count;
    snprintf(warm->name, sizeof warm->name, NAME_PREFIX "%s", id_new("wrm_", id) + 4);
    if (host_place_waiting(db, warm->template_version_id, &warm->resources, failed_host(),
                           warm->name, &warm->host_id, &warm->address, err) < 0 ||
        warm_row_count(db, warm->template_version_id, &warm->resources, &count, err) < 0)
        return -1;
    if (count >= addition->want->wanted)
        return error_set(err, ERR_NO_CAPACITY, "the warm pool has enough of these instances");
    return warm_row_insert(db, warm, addition->worker->settings->lease_s, err);
}

/* Renew the lease while the instance starts. This fails when another dispatcher has found one too
 * many and dismissed it. */
static int renew(void *context, struct error **err)
{
    const struct addition *addition = context;
    return warm_row_renew(addition->worker->db, addition->warm.name,
                          addition->worker->settings->lease_s, err);
}

/* Find the memory from which the instance starts. checkpoint->id "": it starts from its disk. */
static int find_memory(const struct addition *addition, struct checkpoint *checkpoint,
                       struct error **err)
{
    const char *id = addition->want->memory_id;
    *checkpoint = (struct checkpoint){.id = ""};
    if (!*id)
        return 0;
    if (checkpoint_kept(addition->worker->db, id, checkpoint, err) < 0)
        return -1;
    return *checkpoint->id && checkpoint->host_id == addition->warm.host_id
               ? 0
               : error_set(err, ERR_RUNTIME_FAILED, "the memory of version %s is on another host",
                           addition->warm.template_version_id);
}

/* A host may have started the instance from its disk: then the agent does not know the secret of
 * the memory. */
static int check_restored(const struct worker *worker, const struct agent_place *at,
                          const struct checkpoint *memory, struct error **err)
{
    char secret[AGENT_SECRET_SIZE];
    bool continues = false;
    int result =
        agent_secret(worker->ring, memory->agent_instance, memory->agent_key_id, secret, err);
    if (result == 0)
        result = agent_knows(at, secret, deadline_in_ms(AGENT_START_WAIT_MS), &continues, err);
    mem_wipe(secret, sizeof secret);
    return result < 0 || continues
               ? result
               : error_set(err, ERR_RUNTIME_FAILED,
                           "the instance started from its disk instead of its memory");
}

static int start_instance(struct addition *addition, struct error **err)
{
    struct worker *worker = addition->worker;
    const struct warm_instance *warm = &addition->warm;
    char address[IPV4_TEXT_SIZE], source[CHECKPOINT_SOURCE_SIZE];
    struct runtime *runtime;
    struct agent_place at;
    struct checkpoint memory;
    if (find_memory(addition, &memory, err) < 0)
        return -1;
    if (*memory.id)
        checkpoint_source(&memory, source);
    else
        runtime_source_name(warm->template_version_id, source);
    struct runtime_instance instance = {
        .name = warm->name,
        .address = ipv4_format(warm->address, address),
        .source = source,
        .sandbox_id = "",
        .virtual_machine = addition->want->virtual_machine,
        .net_admin = addition->want->net_admin,
        .resources = warm->resources,
        .with_memory = *memory.id,
    };
    if (runtimes_get(worker->runtimes, worker->db, warm->host_id, &runtime, err) < 0 ||
        runtimes_agent(worker->runtimes, worker->db, warm->host_id, warm->address, &at, err) < 0)
        return -1;
    runtime->tick = renew;
    runtime->tick_context = addition;
    int created = runtime->ops->create(runtime, &instance, err);
    runtime->tick = NULL;
    if (created < 0)
        return -1;
    addition->runs = true;
    if (agent_wait(&at,
                   deadline_in_ms(worker_start_wait_ms(worker->settings, instance.virtual_machine)),
                   renew, addition, err) < 0)
        return error_context(err, "instance %s of version %s at %s", warm->name,
                             warm->template_version_id, address);
    return *memory.id ? check_restored(worker, &at, &memory, err) : 0;
}

/* A start takes about 0.4 s of a processor. It waits for an idle one, but not longer than this:
 * otherwise the pool would stay empty on hosts that are always busy. */
#define BUSY_MS 2000

/* Wait for the time to start an instance on a host; *is_time false: creates have begun meanwhile.
 * If `before` has creates already, gives_way() allowed this start nevertheless. */
static int wait_for_turn(struct worker *worker, const struct warm_plan *before, uint32_t host_id,
                         bool *is_time, struct error **err)
{
    struct runtime *runtime;
    struct warm_plan plan = {0};
    *is_time = true;
    if (before->busy)
        return 0;
    if (runtimes_get(worker->runtimes, worker->db, host_id, &runtime, err) < 0 ||
        (!host_wait_idle(runtimes_firewall(worker->runtimes, host_id), BUSY_MS) &&
         warm_plan_begin(worker->db, 0, &plan, err) < 0))
        return -1;
    *is_time = !plan.busy;
    return 0;
}

/* Return whether the template can be the cause of a failed start. After a failure of the host the
 * job backs off. */
static bool is_of_template(const struct addition *addition, const struct error *failure)
{
    if (*addition->want->memory_id)
        return true;
    if (!*addition->want->owner)
        return false;
    return (addition->runs && failure->code == ERR_RUNTIME_UNAVAILABLE) ||
           failure->code == ERR_RUNTIME_STUCK || failure->code == ERR_RUNTIME_FAILED ||
           failure->code == ERR_RUNTIME_REFUSED || failure->code == ERR_MOUNT_POINT;
}

/* Add one instance of the want. */
static int add(struct worker *worker, const struct warm_plan *plan, const struct warm_want *want,
               bool *worked, struct error **err)
{
    struct addition addition = {.worker = worker, .want = want};
    struct warm_instance *warm = &addition.warm;
    memcpy(warm->template_version_id, want->template_version_id, sizeof warm->template_version_id);
    warm->agent_key_id = keyring_newest(worker->ring);
    warm->resources = want->resources;
    if (db_transaction(worker->db, add_body, &addition, err) < 0)
        return error_clear_if(err, ERR_NO_CAPACITY) ? 0 : -1;
    bool is_time;
    int result = wait_for_turn(worker, plan, warm->host_id, &is_time, err);
    if (!is_time)
        return db_transaction(worker->db, forget_body, warm, err);
    *worked = true;
    int64_t begun_ms = clock_monotonic_ms();
    if (result == 0 && start_instance(&addition, err) == 0 &&
        warm_row_ready(worker->db, warm->name, err) == 0)
        return 0;
    if (error_clear_if(err, ERR_LEASE_LOST)) /* fewer are wanted by now */
        return 0;
    error_auto ignored = NULL;
    warm_dismiss(worker->db, warm->name, &ignored); /* or its lease runs out */
    failed.host_id = warm->host_id;
    failed.until_ms = clock_monotonic_ms() + AVOID_MS;
    if (!is_of_template(&addition, *err))
        return -1;
    log_info("cannot start a warm instance of a template version; trying again later",
             LOG_STR("version", want->template_version_id), LOG_ERROR(*err));
    error_clear(err);
    int64_t now_ms = clock_monotonic_ms();
    warm_rest_note(want, now_ms - begun_ms, now_ms);
    return 0;
}

/* --- maintaining --- */

uint32_t warm_kept(const struct settings *settings)
{
    uint64_t half = settings->warm_pool_size / 2;
    return half < WARM_KEPT_MAX ? (uint32_t)half : WARM_KEPT_MAX;
}

/* While creates run, the pool waits, for at most this time in a row. Then it makes one instance,
 * and waits again. */
#define GIVE_WAY_MS 5000
/* A pool with no more than a tenant leaves to others waits for this time. */
#define GIVE_WAY_LOW_MS 1000
/* How long to rest without work; warm_hurry() ends the rest. */
#define LOOK_AGAIN_MS 4000
/* Plans of teams change slowly. */
#define SIZES_MS 60000

static int64_t rest_until_ms, quiet_until_ms; /* monotonic */

void warm_hurry(void)
{
    rest_until_ms = 0;
}

/* Keep some instances of the default template without demand, no more than the hosts take. */
static int keep_defaults(struct worker *worker, struct warm_plan *plan, struct error **err)
{
    static struct warm_sizes sizes;
    static int64_t sizes_until_ms; /* monotonic */
    const struct settings *settings = worker->settings;
    struct template_version version;
    uint64_t room;
    if (!settings->warm_pool_size)
        return 0;
    if (template_resolve(worker->db, TEAM_DEPLOYMENT_ID, settings->default_template,
                         "default_template", &version, err) < 0)
        return error_clear_if(err, ERR_TEMPLATE_NOT_FOUND) ? 0 : -1; /* none yet */
    struct warm_want want = {
        .virtual_machine = version.virtual_machine,
        .net_admin = version.net_admin,
        .resources = {version.cpu, version.memory_mb, 0},
    };
    memcpy(want.template_version_id, version.id, sizeof want.template_version_id);
    if (clock_monotonic_ms() >= sizes_until_ms) {
        if (warm_sizes_read(worker->db, &sizes, err) < 0)
            return -1;
        sizes_until_ms = clock_monotonic_ms() + SIZES_MS;
    }
    if (warm_room_read(worker->db, &want.resources, &room, err) < 0)
        return -1;
    warm_plan_keep(plan, &want, &sizes,
                   room < settings->warm_pool_size ? room : settings->warm_pool_size);
    return 0;
}

/* How many instances exist of each of plan->wants. */
struct tally {
    unsigned counts[WARM_WANTS_MAX];
    unsigned surplus; /* instances that must leave */
};

static bool is_kept(struct warm_plan *plan, const struct warm_listed *listed, struct tally *tally)
{
    const struct warm_instance *warm = &listed->warm;
    struct warm_want *want = warm_plan_find(plan, warm->template_version_id, &warm->resources);
    if (!listed->fits || !want || tally->counts[want - plan->wants] >= want->wanted)
        return false;
    tally->counts[want - plan->wants]++;
    return true;
}

static int compare(struct worker *worker, struct warm_plan *plan, struct tally *tally,
                   struct error **err)
{
    autofree struct warm_listed *list = NULL;
    size_t count;
    *tally = (struct tally){0};
    if (warm_row_list(worker->db, &list, &count, err) < 0)
        return -1;
    for (size_t i = 0; i < count; i++) {
        if (!list[i].leaves && is_kept(plan, &list[i], tally))
            continue;
        tally->surplus++;
        if (!list[i].leaves && warm_dismiss(worker->db, list[i].warm.name, err) < 0)
            return -1;
    }
    return 0;
}

static int add_next(struct worker *worker, const struct warm_plan *plan, const struct tally *tally,
                    bool *worked, struct error **err)
{
    const struct warm_want *missing = NULL;
    unsigned gap = 0;
    for (unsigned i = 0; i < plan->count; i++) {
        const struct warm_want *want = &plan->wants[i];
        if (want->wanted > tally->counts[i] && want->wanted - tally->counts[i] > gap &&
            !warm_rests(want, clock_monotonic_ms())) {
            missing = want;
            gap = want->wanted - tally->counts[i];
        }
    }
    return missing ? add(worker, plan, missing, worked, err) : 0;
}

/* Make and remove instances in turns. After a reboot, or with a new version of a template, the
 * whole pool must be replaced. The first useful instance would otherwise come after the last
 * removal. */
static int change_next(struct worker *worker, const struct warm_plan *plan,
                       const struct tally *tally, bool *worked, struct error **err)
{
    static bool adds_first;
    adds_first = !adds_first;
    if (adds_first && add_next(worker, plan, tally, worked, err) < 0)
        return -1;
    if (!*worked && tally->surplus && remove_next(worker, worked, err) < 0)
        return -1;
    return *worked || adds_first ? 0 : add_next(worker, plan, tally, worked, err);
}

/* Check whether refilling waits, for a limited time when creates never cease. Each start makes
 * Incus divide processors by its own records. */
static bool gives_way(const struct settings *settings, const struct warm_plan *plan)
{
    static int64_t since_ms; /* monotonic; 0: no create is running */
    int64_t now_ms = clock_monotonic_ms();
    if (!plan->busy && !plan->untold)
        since_ms = 0;
    else if (!since_ms)
        since_ms = now_ms;
    if (!since_ms)
        return false;
    if (now_ms - since_ms < (plan->there <= warm_kept(settings) ? GIVE_WAY_LOW_MS : GIVE_WAY_MS))
        return true;
    since_ms = now_ms;
    return false;
}

static int maintain(struct worker *worker, bool *worked, struct error **err)
{
    unsigned percent = (unsigned)worker->settings->warm_memory_percent;
    struct warm_plan plan;
    struct tally tally;
    if (warm_plan_begin(worker->db, percent, &plan, err) < 0)
        return -1;
    if (gives_way(worker->settings, &plan)) {
        quiet_until_ms = clock_monotonic_ms() + WARM_QUIET_MS;
        return 0;
    }
    if ((percent && warm_plan_ask(worker->db, &plan, err) < 0) ||
        keep_defaults(worker, &plan, err) < 0)
        return -1;
    warm_plan_decide(&plan);
    if (compare(worker, &plan, &tally, err) < 0 ||
        change_next(worker, &plan, &tally, worked, err) < 0)
        return -1;
    if (!*worked)
        rest_until_ms = clock_monotonic_ms() + LOOK_AGAIN_MS;
    return 0;
}

int warm_maintain_next(struct worker *worker, bool *worked, struct error **err)
{
    int64_t now_ms = clock_monotonic_ms();
    *worked = false;
    return now_ms < rest_until_ms || now_ms < quiet_until_ms ? 0 : maintain(worker, worked, err);
}
