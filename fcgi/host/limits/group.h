/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The control group of an instance, on a machine with one hierarchy (v2) or with one for each
 * controller (v1): what incusd writes into it for limits.cpu, limits.cpu.allowance in percent and
 * limits.memory is written here likewise, so that Incus changes nothing that counts when it writes
 * the same later.
 */
#pragma once

#include <sys/types.h>

#include "limits/hold.h"
#include "limits/order.h"

#define GROUPS_ROOT "/sys/fs/cgroup"

struct groups {
    bool unified;
    int cpuset, cpu, memory; /* folders of the controllers; in one hierarchy three times the same */
    const char *project;     /* of Incus; borrowed */
    struct hold *hold;       /* may be NULL */
};

/* Errors: ERR_CONFIG. */
int groups_open(struct groups *groups, const char *root, const char *project, struct error **err);
void groups_close(struct groups *groups);

/* Whether groups can be opened in them: the kernel or a filter of system calls may refuse it.
 * Errors: ERR_RUNTIME_REFUSED. */
int groups_check(const struct groups *groups, struct error **err);

/* The process that watches over an instance, which is of its host. Errors: ERR_NOT_FOUND (no such
 * instance runs), ERR_RUNTIME_REFUSED. */
int groups_monitor(const struct groups *groups, const char *instance, pid_t *pid,
                   struct error **err);

/* Give an instance its processors, their weight and its memory. Errors: ERR_NOT_FOUND (no such
 * instance runs), ERR_RUNTIME_REFUSED (it holds more memory than it is to have, or the kernel does
 * not take it); a part may be done then. */
int groups_size(struct groups *groups, const struct order *order, struct error **err);
