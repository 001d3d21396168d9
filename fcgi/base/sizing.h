/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How a running instance is given its size and its volumes on its host, by those who have a part in
 * it: the control plane names them in a header of its call to the host's firewall, which passes it
 * on to sandlot-limits over a socket of the host.
 *
 *   X-Sandlot-Size: INSTANCE CPU MEMORY_MB DISK_GB [tenant:NUMBER] [VOLUME:PATH]...
 *
 * DISK_GB 0: as it is. NUMBER: pool_tenant() of the team, of which sandlot-limits serves a part of
 * its orders at once only.
 * A path is percent-encoded where it has other bytes than printable ASCII, and '%' and blanks.
 * The line, with a line feed behind, is what sandlot-limits reads; it answers SIZING_DONE, or a
 * line that says why not. A header, as firewalls of versions before leave unknown ones alone.
 * SIZING_CHECK in its place changes nothing and asks whether it could do so.
 */
#pragma once

#define SIZING_HEADER "X-Sandlot-Size"
#define SIZING_MAX    2048 /* bytes of the line; for more volumes Incus is asked */
#define SIZING_TENANT "tenant:"
#define SIZING_CHECK  "check"
#define SIZING_DONE   "done\n"

/* Of a vCPU among processes that are all busy, in percent; a service of the host has 100. */
#define CPU_WEIGHT_PERCENT 25
