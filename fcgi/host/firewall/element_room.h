/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Divide the kernel's sets of names among the tenants of this host. */
#pragma once

#include "firewall/filter.h"

#define ELEMENTS_ALL 1048576 /* the size of a set in conf/nftables/sandlot.nft.in */

/* Return how many elements a sandbox may have under the policy of a tenant: ELEMENTS_MAX at most. A
 * team, and a user in all teams, leaves half of the room that the others leave. So tenants with
 * many sandboxes cannot fill the sets. A sandbox keeps as many elements as it has. */
size_t element_room(const struct filter *filter, const struct filter_sandbox *sandbox,
                    const struct policy_wire *wire);
