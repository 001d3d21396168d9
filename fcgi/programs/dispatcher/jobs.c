/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "dispatcher/jobs.h"

#include "base/clock.h"
#include "checkpoint/checkpoint_removal.h"
#include "dispatcher/cleanup.h"
#include "idempotency/idempotency.h"
#include "sandbox/reservation.h"
#include "sandbox/sandbox_network.h"
#include "template/template_build.h"
#include "template/warm.h"
#include "volume/volume_store.h"

/* What a firewall has lost is noticed after at most that long. */
#define FIREWALL_COMPARE_MS 5000

static int purge_answers(struct worker *worker, struct error **err)
{
    return idempotency_purge(worker->db, err);
}

static int compare_counters(struct worker *worker, struct error **err)
{
    return reservation_reconcile(worker->db, err);
}

static bool due_operations(const struct due *due)
{
    return due->operations;
}

static bool due_volumes(const struct due *due)
{
    return due->volumes;
}

static bool due_checkpoints(const struct due *due)
{
    return due->checkpoints;
}

static bool due_builds(const struct due *due)
{
    return due->builds;
}

static bool due_removals(const struct due *due)
{
    return due->removals;
}

static bool due_policies(const struct due *due)
{
    return due->policies;
}

static bool due_deadlines(const struct due *due)
{
    return due->deadline_at_ms && due->deadline_at_ms <= clock_now_ms();
}

/* Operations wait for runtimes, so several go on beside each other. */
const struct process dispatcher_processes[PROCESS_COUNT] = {
    [PROCESS_WORK] = {1, NOTIFY_POOL, warm_hurry},
    [PROCESS_OPERATIONS] = {2, NOTIFY_OPERATIONS, NULL},
    [PROCESS_DEADLINES] = {1, NOTIFY_NONE, NULL},
    [PROCESS_HOSTS] = {1, NOTIFY_NONE, NULL},
    [PROCESS_AGENTS] = {1, NOTIFY_NONE, NULL},
    [PROCESS_SAMPLES] = {1, NOTIFY_NONE, NULL},
    [PROCESS_POLICIES] = {1, NOTIFY_POLICIES, NULL},
    [PROCESS_BUILDS] = {1, NOTIFY_BUILDS, NULL},
};

struct job dispatcher_jobs[] = {
    /* Nothing here waits for a runtime, so each deadline is acted on in its second, however long
     * the work takes that follows. */
    {"deadlines", PROCESS_DEADLINES, .next = sandbox_expire_next, .is_due = due_deadlines},

    {"operations", PROCESS_OPERATIONS, .next = sandbox_recover_next, .is_due = due_operations},

    /* Most urgent first; the sweeps are for what nobody waits for. */
    {"orphaned instances", PROCESS_WORK, .sweep = sandbox_sweep},
    {"orphaned volumes", PROCESS_WORK, .sweep = volume_sweep},
    {"clean-up", PROCESS_WORK, .sweep = cleanup_sweep},
    {"counters", PROCESS_WORK, .sweep = compare_counters},
    {"kept answers", PROCESS_WORK, .sweep = purge_answers},
    {"volumes", PROCESS_WORK, .next = volume_recover_next, .is_due = due_volumes},
    {"checkpoints", PROCESS_WORK, .next = checkpoint_remove_next, .is_due = due_checkpoints},
    {"warm pool", PROCESS_WORK, .next = warm_tend_next, .backs_off = true},

    /* A firewall that does not answer keeps nothing else waiting. */
    {"firewalls", PROCESS_POLICIES, .sweep = sandbox_network_reconcile,
     .every_ms = FIREWALL_COMPARE_MS, .at_start = true},
    {"network policies", PROCESS_POLICIES, .next = sandbox_network_next, .is_due = due_policies},

    {"template builds", PROCESS_BUILDS, .next = template_build_next, .is_due = due_builds},
    {"template removals", PROCESS_BUILDS, .next = template_remove_next, .is_due = due_removals},

    {"samples", PROCESS_SAMPLES, .serve = sample_serve},
    {"hosts", PROCESS_HOSTS, .serve = hosts_monitor_serve},
    {"agents", PROCESS_AGENTS, .serve = agents_serve},
    {.process = PROCESS_COUNT},
};
