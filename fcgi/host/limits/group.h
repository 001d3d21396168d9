/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Set the limits in the control group of an instance.
 *
 * The machine has one hierarchy (v2), or one for each controller (v1). The values are those that
 * incusd writes for limits.cpu, limits.cpu.allowance in percent and limits.memory. A later update
 * of Incus therefore changes nothing that matters.
 *
 * Functions that read a list of processors also fail with ERR_INVALID_REQUEST, when the list has an
 * unknown form.
 */
#pragma once

#include <sys/types.h>

#include "common/cpus.h"
#include "limits/order.h"

#define GROUPS_ROOT "/sys/fs/cgroup"

struct groups {
    bool unified;
    int cpuset, cpu, cpuacct,
        memory;          /* folders of the controllers; with one hierarchy, all four are the same */
    const char *project; /* of Incus; borrowed */
    struct cpu_uses uses; /* of processors, as spread_run() has counted them */
};

/* Open the folders of the controllers. Errors: ERR_CONFIG. */
int groups_open(struct groups *groups, const char *root, const char *project, struct error **err);
void groups_close(struct groups *groups);

/* Check that groups inside the folders can be opened: the kernel or a filter of system calls may
 * refuse it. Errors: ERR_RUNTIME_REFUSED. */
int groups_check(const struct groups *groups, struct error **err);

/* Find the monitor of an instance, a process of the host. Errors: ERR_NOT_FOUND (no such instance
 * runs), ERR_RUNTIME_REFUSED. */
int groups_monitor(const struct groups *groups, const char *instance, pid_t *pid,
                   struct error **err);

/* The processor time that an instance has used since its start, and its number of processors. */
struct group_use {
    uint64_t used_us;
    unsigned cpus;
};
/* Measure the group of an instance. Errors: ERR_NOT_FOUND (no such instance runs),
 * ERR_RUNTIME_REFUSED. */
int groups_use(const struct groups *groups, const char *instance, struct group_use *use,
               struct error **err);

/* Set the weight of an instance, in the unit of cpu.weight. A weight that equals one of whole vCPUs
 * is increased by 1 in the control group. If the present weight is one of whole vCPUs, for example
 * after a resize by Incus, the instance first gets as many processors. Errors: as groups_use(). */
int groups_weigh(struct groups *groups, const char *instance, double weight, struct error **err);

/* Set the processors, their weight and the memory of an instance. Errors: ERR_NOT_FOUND (no such
 * instance runs), ERR_RUNTIME_REFUSED (the instance uses more memory than the new limit, or the
 * kernel refuses a value). After an error, some values may be set. */
int groups_size(struct groups *groups, const struct order *order, struct error **err);

/* --- processors; for spread.c --- */

/* An open group. */
struct instance_group {
    int cpuset, cpu;
};

/* Open the group of an instance. Errors: ERR_NOT_FOUND (no such instance runs),
 * ERR_RUNTIME_REFUSED. */
int group_open(const struct groups *groups, const char *instance, struct instance_group *group,
               struct error **err);
void group_close(struct instance_group *group);

/* Return the start of the names of all groups of instances; the caller frees it. */
char *groups_prefix(const struct groups *groups);
/* Return the name of the file with a group's weight. */
const char *groups_weight_file(const struct groups *groups);

/* Read the processors of the machine. Errors: ERR_RUNTIME_REFUSED. */
int groups_cpus(const struct groups *groups, struct cpus *there, struct error **err);
/* Read the processors of a group into *own, and the number that it should have into *wanted. This
 * is the number for its weight. If groups_weigh() has set the weight, it is the present number.
 * Errors: ERR_RUNTIME_REFUSED. */
int group_cpus(const struct groups *groups, const struct instance_group *group, struct cpus *own,
               unsigned *wanted, struct error **err);
/* Set the processors of a group. Errors: ERR_RUNTIME_REFUSED. */
int group_set_cpus(const struct instance_group *group, const struct cpus *own, struct error **err);
