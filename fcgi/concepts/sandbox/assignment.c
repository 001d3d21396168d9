/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sandbox/assignment.h"

#include <limits.h>
#include <string.h>

#include "base/clock.h"
#include "base/fault_point.h"
#include "base/mem.h"
#include "runtime/agent_client.h"
#include "sandbox/sandbox_size.h"

#define AGENT_WARM_WAIT_MS 2000  /* it answered before */
#define CPUS_WAIT_MS       10000 /* on a busy host */
#define START_CPUS_WAIT_MS 3000
#define CPUS_LOOK_MS       10

/* Check whether the warm instance has another size than the sandbox. */
static bool is_resized(const struct sandbox *sandbox, const struct warm_instance *warm)
{
    return warm->name[0] &&
           memcmp(&warm->resources, &sandbox->resources, sizeof warm->resources) != 0;
}

bool assignment_updates_incus_later(const struct sandbox *sandbox, const struct warm_instance *warm,
                                    unsigned mount_count)
{
    return warm->name[0] && (mount_count || is_resized(sandbox, warm)) && !sandbox->virtual_machine;
}

void assignment_plan(struct work *work, const struct warm_instance *warm,
                     const struct runtime_mount *mounts, unsigned mount_count)
{
    const struct sandbox *sandbox = &work->sandbox;
    const struct runtime_resources *wanted = &sandbox->resources;
    unsigned disk_gb = wanted->disk_gb == warm->resources.disk_gb ? 0 : wanted->disk_gb;
    if (assignment_updates_incus_later(sandbox, warm, mount_count))
        work->size = (struct firewall_size){
            sandbox->instance_name, wanted->cpu, wanted->memory_mb, disk_gb, mounts, mount_count};
}

/* Ask the host's firewall for its number of processors. A firewall that does not answer is no
 * reason to refuse a create. */
static unsigned processors_of_host(struct work *work)
{
    error_auto ignored = NULL;
    struct firewall_host host;
    struct firewall *firewall = runtimes_firewall(work->worker->runtimes, work->sandbox.host_id);
    work_network_end(work);
    return firewall && firewall_host(firewall, &host, &ignored) == 0 ? host.processors : UINT_MAX;
}

/* Wait while commands find from `least` to `most` processors, for wait_ms at most. */
static int wait_while_cpus(struct work *work, unsigned least, unsigned most, unsigned wait_ms,
                           struct error **err)
{
    struct deadline until = work_agent_deadline(work, wait_ms);
    char secret[AGENT_SECRET_SIZE];
    struct agent_place at;
    bool waits = true;
    int result = work_know_agent(work, &at, secret, err);
    while (result == 0 && waits && !deadline_passed(until)) {
        unsigned cpus;
        error_auto busy = NULL; /* ask again */
        result = lease_tick(&work->lease, err);
        waits = result == 0 && (agent_cpus(&at, secret, until, &cpus, &busy) < 0 ||
                                (cpus >= least && cpus <= most));
        if (waits)
            clock_sleep_ms(CPUS_LOOK_MS);
    }
    mem_wipe(secret, sizeof secret);
    return result;
}

/* Wait until the new number of processors is in force. Incus sets it some tenths of a second after
 * its answer. A command that counts them earlier would start too few workers. before: the previous
 * number, which cannot be higher than that of the host. */
static int wait_for_cpus(struct work *work, unsigned before, struct error **err)
{
    const struct sandbox *sandbox = &work->sandbox;
    unsigned most = processors_of_host(work);
    if (before >= most && sandbox->resources.cpu >= most)
        return 0;
    before = before < most ? before : most;
    return wait_while_cpus(work, before, before, CPUS_WAIT_MS, err);
}

int assignment_wait(struct work *work, struct error **err)
{
    unsigned cpu = work->sandbox.resources.cpu, most = processors_of_host(work);
    return most == UINT_MAX || cpu >= most
               ? 0
               : wait_while_cpus(work, cpu + 1, UINT_MAX, START_CPUS_WAIT_MS, err);
}

/* Let Incus change the instance: for a host of an earlier version, or one that cannot do it
 * itself. */
static int adapt(struct work *work, const struct warm_instance *warm, bool resize,
                 const struct runtime_mount *mounts, unsigned mount_count, struct error **err)
{
    const struct sandbox *sandbox = &work->sandbox;
    if (work->runtime->ops->adapt(work->runtime, sandbox->instance_name,
                                  resize ? &sandbox->resources : NULL, mounts, mount_count,
                                  err) < 0 ||
        (assignment_updates_incus_later(sandbox, warm, mount_count) &&
         sandbox_size_forget(work->worker->db, sandbox->id, err) < 0))
        return -1;
    return resize && warm->resources.cpu != sandbox->resources.cpu
               ? wait_for_cpus(work, warm->resources.cpu, err)
               : 0;
}

/* The runtime is only called when the instance needs volumes or another size, and the host has not
 * set them together with the policy. If the host has, Incus is updated later (sandbox_size.h). */
int assignment_make(struct work *work, const struct warm_instance *warm,
                    const struct former_agent *former, const struct runtime_mount *mounts,
                    unsigned mount_count, struct error **err)
{
    bool resize = is_resized(&work->sandbox, warm);
    if (work_succeed_agent(work, former, AGENT_WARM_WAIT_MS, err) < 0)
        return -1;
    if (resize || mount_count)
        work_network_end(work);
    if ((resize || mount_count) && !work->sized &&
        adapt(work, warm, resize, mounts, mount_count, err) < 0)
        return -1;
    fault_point(FAULT_CREATE_ADAPTED);
    return 0;
}
