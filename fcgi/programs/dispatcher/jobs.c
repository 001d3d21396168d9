/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "dispatcher/jobs.h"

#include "dispatcher/cleanup.h"
#include "idempotency/idempotency.h"
#include "sandbox/lifecycle.h"
#include "sandbox/reservation.h"
#include "sandbox/sandbox_network.h"
#include "sandbox/warm.h"
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

struct job dispatcher_jobs[] = {
    /* Nothing here waits for a runtime, so each deadline is acted on in its second, however long
     * the work takes that follows. */
    {"deadlines", PROCESS_DEADLINES, .next = sandbox_expire_next},

    /* Most urgent first; the sweeps are for what nobody waits for. */
    {"orphaned instances", PROCESS_WORK, .sweep = sandbox_sweep},
    {"orphaned volumes", PROCESS_WORK, .sweep = volume_sweep},
    {"clean-up", PROCESS_WORK, .sweep = cleanup_sweep},
    {"counters", PROCESS_WORK, .sweep = compare_counters},
    {"kept answers", PROCESS_WORK, .sweep = purge_answers},
    {"operations", PROCESS_WORK, .next = sandbox_recover_next},
    {"volumes", PROCESS_WORK, .next = volume_recover_next},
    {"checkpoints", PROCESS_WORK, .next = checkpoint_remove_next},
    {"warm pool", PROCESS_WORK, .next = warm_tend_next, .backs_off = true},

    /* A firewall that does not answer keeps nothing else waiting. */
    {"firewalls", PROCESS_POLICIES, .sweep = sandbox_network_reconcile,
     .every_ms = FIREWALL_COMPARE_MS, .at_start = true},
    {"network policies", PROCESS_POLICIES, .next = sandbox_network_next},

    {"template builds", PROCESS_BUILDS, .next = template_build_next},
    {"template removals", PROCESS_BUILDS, .next = template_remove_next},

    {"samples", PROCESS_SAMPLES, .serve = sample_serve},
    {"hosts", PROCESS_HOSTS, .serve = hosts_watch_serve},
    {"agents", PROCESS_AGENTS, .serve = agents_serve},
    {.process = PROCESS_COUNT},
};
