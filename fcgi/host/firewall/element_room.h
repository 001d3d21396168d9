/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Divide the kernel's sets of names, and the memory of policies, among the tenants of this host. A
 * team, and a user in all teams, leaves half of the room that the others leave. So tenants with
 * many sandboxes leave room for others. */
#pragma once

#include "firewall/filter.h"

#define ELEMENTS_ALL 1048576 /* the size of a set in conf/nftables/sandlot.nft.in */
/* Bytes of JSON of all policies. In memory they are some times as large (MemoryMax= of
 * conf/systemd/sandlot-firewall.service.in). */
#define POLICIES_BYTES ((size_t)256 << 20)

/* Return how many elements a sandbox may have under the policy of a tenant: ELEMENTS_MAX at most. A
 * sandbox keeps as many elements as it has. */
size_t element_room(const struct filter *filter, const struct filter_sandbox *sandbox,
                    const struct policy_wire *wire);

/* Return whether there is room for a policy of a sandbox; NULL: it has none yet. A policy that is
 * not larger than the sandbox's present one always fits. */
bool policy_fits(const struct filter *filter, const struct filter_sandbox *sandbox,
                 const struct policy_wire *wire);
