/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The policy's part in the lifecycle: create, resume and delete. */
#include "approval/approval.h"
#include "base/clock.h"
#include "base/fault_point.h"
#include "base/log.h"
#include "base/mem.h"
#include "http/pool.h"
#include "network/firewall_client.h"
#include "network/sandbox_policy.h"
#include "sandbox/lifecycle_steps.h"
#include "sandbox/sandbox_network_row.h"
#include "secret/egress_secrets.h"

static void fail(struct work *work, const struct error *failure)
{
    work->network = NETWORK_FAILED;
    log_warning("cannot apply the network policy of a sandbox; the dispatcher tries again",
                SANDBOX_LOG(&work->sandbox),
                LOG_INT("revision", (int64_t)work->sandbox.network_revision), LOG_ERROR(failure));
}

void work_network_begin(struct work *work)
{
    const struct sandbox *sandbox = &work->sandbox;
    struct firewall *firewall = runtimes_firewall(work->worker->runtimes, sandbox->host_id);
    error_auto failure = NULL;
    policy_wire_auto wire = {.sandbox_id = xstrdup(sandbox->id),
                             .address = sandbox->address,
                             .revision = sandbox->network_revision,
                             .tenant = pool_tenant(sandbox->team_id),
                             .user = pool_tenant(sandbox->created_by)};
    if (!firewall) {
        error_set(&failure, ERR_RUNTIME_UNAVAILABLE, "the host has no firewall");
        fail(work, failure);
        return;
    }
    if (sandbox_policy_compile(work->worker->db, sandbox->network, &wire.policy, &failure) < 0 ||
        approvals_compile(work->worker->db, sandbox->id, &wire.policy, &failure) < 0 ||
        egress_rules_compile(work->worker->db, work->worker->ring, sandbox->team_id,
                             sandbox->network, &wire.policy, &failure) < 0) {
        fail(work, failure);
        return;
    }
    const struct firewall_size same = {.instance = sandbox->instance_name};
    firewall_put_begin(firewall, &wire, work->operation.kind == OPERATION_CREATE,
                       work->size.instance ? &work->size : &same);
    work->firewall = firewall;
}

void work_network_end(struct work *work)
{
    error_auto failure = NULL;
    struct firewall *firewall = steal_pointer(&work->firewall);
    if (!firewall)
        return;
    if (firewall_end(firewall, &failure) < 0) {
        fail(work, failure);
        return;
    }
    work->network = NETWORK_APPLIED;
    work->sized = work->size.instance && firewall_sized(firewall);
}

void work_network_tell(struct work *work)
{
    if (work->firewall && !firewall_told(work->firewall))
        work_network_end(work);
}

int work_network_resume(struct work *work, struct error **err)
{
    const struct sandbox *sandbox = &work->sandbox;
    work_network_begin(work);
    work_network_end(work);
    fault_point(FAULT_RESUME_NETWORK);
    /* The first revision has no predecessor. A policy that is known to be applied may be gone from
     * the firewall, which closes the sandbox, but no other policy can be in its place. */
    if (work->network == NETWORK_APPLIED || sandbox->network_revision == 1 ||
        sandbox->network_applied == sandbox->network_revision)
        return 0;
    return error_set(
        err, ERR_RUNTIME_UNAVAILABLE,
        "cannot send the firewall the policy that was set while the sandbox was paused");
}

void work_network_remove_begin(struct work *work)
{
    const struct sandbox *sandbox = &work->sandbox;
    work->firewall = runtimes_firewall(work->worker->runtimes, sandbox->host_id);
    if (work->firewall)
        firewall_remove_begin(work->firewall, sandbox->address, sandbox->id);
}

void work_network_remove_end(struct work *work)
{
    error_auto failure = NULL;
    if (work->firewall && firewall_end(steal_pointer(&work->firewall), &failure) < 0)
        log_warning("cannot close the network of a deleted sandbox; it may use the network until "
                    "its instance stops",
                    SANDBOX_LOG(&work->sandbox), LOG_ERROR(failure));
}

void work_network_ended(struct work *work)
{
    const struct sandbox *sandbox = &work->sandbox;
    struct firewall *firewall = runtimes_firewall(work->worker->runtimes, sandbox->host_id);
    error_auto failure = NULL;
    if (!firewall)
        return;
    firewall_ended_begin(firewall, sandbox->address, sandbox->id);
    work->policy_may_stand = firewall_end(firewall, &failure) < 0;
    if (work->policy_may_stand)
        log_warning("cannot delete the network policy of a deleted sandbox; the sweep tries again",
                    SANDBOX_LOG(&work->sandbox), LOG_ERROR(failure));
}

int work_network_settle(const struct work *work, struct db *db, struct sandbox *row,
                        struct error **err)
{
    /* The firewall got, or did not get, the policy that was read then; the row may have a newer
     * one. */
    if (row->network_revision == work->sandbox.network_revision &&
        work->network != NETWORK_UNTOUCHED)
        row->network_applied = work->network == NETWORK_APPLIED ? row->network_revision : 0;
    /* A paused sandbox gets its policy when it is resumed. */
    if (row->network_applied == row->network_revision || row->state == SANDBOX_STOPPED)
        row->network_due_at_ms = 0;
    else if (row->state == SANDBOX_READY && !row->network_due_at_ms)
        row->network_due_at_ms = clock_now_ms();
    if (row->state != SANDBOX_DESTROYED)
        return 0;
    row->network_due_at_ms = 0;
    return work->policy_may_stand ? network_row_quarantine(db, row, err) : 0;
}
