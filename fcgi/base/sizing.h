/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The header by which a running instance gets its size and its volumes on its host. The control
 * plane sends it with its call to the host's firewall, which passes it to sandlot-limits over a
 * socket of the host.
 *
 *   X-Sandlot-Size: INSTANCE CPU MEMORY_MB DISK_GB [tenant:NUMBER] [VOLUME:PATH]...
 *   X-Sandlot-Size: INSTANCE tenant:NUMBER
 *
 * Each policy has one of the two lines; the second one changes no size.
 *
 * DISK_GB 0: unchanged. NUMBER: pool_tenant() of the team; sandlot-limits serves only a part of a
 * team's orders at once, and shares the processors between teams. A path is percent-encoded where
 * it has other bytes than printable ASCII, and '%' and blanks. sandlot-limits reads the line, with
 * a line feed at its end, and answers SIZING_DONE, or a line with the reason of a refusal. It is a
 * header because firewalls of previous versions ignore unknown headers. SIZING_CHECK instead
 * changes nothing and asks whether the order is possible.
 */
#pragma once

#define SIZING_HEADER "X-Sandlot-Size"
#define SIZING_MAX    2048 /* bytes of the line; more volumes go through Incus */
#define SIZING_TENANT "tenant:"
#define SIZING_CHECK  "check"
#define SIZING_DONE   "done\n"

/* The weight of a vCPU among control groups that are all busy; a usual group has 100, and the
 * services of the host together have 10000 (conf/systemd/slice.conf). */
#define CPU_WEIGHT_PERCENT 25
