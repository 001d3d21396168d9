/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Cut the remaining flows of ended sandboxes.
 *
 * Their packets no longer pass, but their flows are still in the connection table. The far ends
 * must be notified, and the entries deleted. This is done for many sandboxes at once, after the
 * requests are answered. A file in the state directory represents each such sandbox, so that a
 * restart of this program loses none.
 */
#pragma once

#include "firewall/filter.h"

/* Add an address whose policy was just removed. Errors: ERR_INTERNAL. */
int stale_flows_add(struct filter *filter, uint32_t address, struct error **err);

/* Cut the flows of an address now, because another sandbox gets it. *held: the address was in the
 * list, so it has no flow any more. Errors: ERR_RUNTIME_REFUSED; the address then stays in the
 * list. */
int stale_flows_cut_now(struct filter *filter, uint32_t address, bool *held, struct error **err);

/* Read the list from the state directory. Errors: ERR_CONFIG. */
int stale_flows_restore(struct filter *filter, struct error **err);

/* Cut the flows of all addresses that are due. Only one thread may call this. It takes the filter's
 * lock itself, and releases it while it reads the connection table. */
void stale_flows_cut_due(struct filter *filter);
