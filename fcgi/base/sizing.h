/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The header by which a running instance gets its size and its volumes on its host. The control
 * plane sends it with its call to the host's firewall, which passes it to sandlot-limits over a
 * socket of the host.
 *
 *   X-Sandlot-Size: INSTANCE CPU MEMORY_MB DISK_GB [tenant:TEAM[:USER]] [VOLUME:PATH]...
 *   X-Sandlot-Size: INSTANCE tenant:TEAM[:USER]
 *
 * Each policy has one of the two lines; the second one changes no size.
 *
 * DISK_GB 0: unchanged. TEAM, USER: pool_tenant() of the team and of the user who made the sandbox.
 * sandlot-limits serves only a part of their orders at once, and shares the processors between
 * teams.
 *
 * In a path, blanks, '%' and all bytes that are not printable ASCII are percent-encoded. The line
 * ends with a line feed. The answer of sandlot-limits is SIZING_DONE, or a line with the reason of
 * a refusal. It is a header because firewalls of previous versions ignore unknown headers.
 * SIZING_CHECK instead changes nothing and asks whether the order is possible.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define SIZING_HEADER "X-Sandlot-Size"
#define SIZING_MAX    2048 /* bytes of the line; more volumes go through Incus */
#define SIZING_TENANT "tenant:"
#define SIZING_CHECK  "check"
#define SIZING_DONE   "done\n"

/* The weight of a vCPU among control groups that are all busy. A usual group has 100. The services
 * of the host together have 10000 (conf/systemd/slice.conf). */
#define CPU_WEIGHT_PERCENT 25
#define CPU_WEIGHT_MAX     10000 /* the kernel's limit of cpu.weight */
#define CPU_SHARES_FULL    1024  /* cpu.shares of a usual group */

/* Return the weight of some vCPUs, as incusd calculates it: cpu.weight of cgroup v2, or cpu.shares
 * of v1. */
static inline uint64_t cpu_weight(unsigned cpu, bool unified)
{
    uint64_t percent = (uint64_t)cpu * CPU_WEIGHT_PERCENT;
    if (!unified)
        return percent * CPU_SHARES_FULL / 100;
    return percent < CPU_WEIGHT_MAX ? percent : CPU_WEIGHT_MAX;
}

/* Return the number of vCPUs that a weight stands for. 0: it is not the weight of whole vCPUs. The
 * program sandlot-limits writes such weights when it shares the processors between teams. */
static inline unsigned cpu_of_weight(uint64_t weight, bool unified)
{
    uint64_t one = cpu_weight(1, unified);
    return weight % one == 0 ? (unsigned)(weight / one) : 0;
}
