/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Networks that no sandbox reaches, whatever a policy says. Some the operator may open (private
 * ranges, shared address space, benchmarks); this host, loopback, link-local with its metadata
 * address, multicast and the sandboxes' own ranges he may not. The list follows the special-purpose
 * registries of RFC 6890.
 */
#pragma once

#include "network/policy.h"

#define PROTECTED_OPEN_MAX   64
#define PROTECTED_CLOSED_MAX 256

struct protected_network {
    struct policy_address network;
    uint8_t prefix_length;
    const char *reason; /* of a closed one; static */
};

struct protected_networks {
    struct protected_network open[PROTECTED_OPEN_MAX]; /* what the operator opens */
    size_t open_count;
    struct protected_network closed[PROTECTED_CLOSED_MAX]; /* of this deployment, never opened */
    size_t closed_count;
};

/* Fill open from the setting protected_networks_open: networks, separated by commas or blanks; ""
 * opens nothing. Errors: ERR_CONFIG for what is no network, and for one that meets a network that
 * can never be opened. */
int protected_open(struct protected_networks *networks, const char *text, struct error **err);

/* The same for those who are no sandboxes: whatever is written opens. setting: its name. */
int protected_open_any(struct protected_networks *networks, const char *setting, const char *text,
                       struct error **err);

/* Add a network that is never opened: the sandboxes' range, an address of a host. Errors:
 * ERR_CONFIG for what is no network or one too many. */
int protected_close(struct protected_networks *networks, const char *text, struct error **err);

/* The same of an address that this machine has, unless the operator has opened it. */
int protected_close_own(struct protected_networks *networks, const char *text, struct error **err);

/* Why the address is protected ("private network 10.0.0.0/8"), or NULL when it is not; static. */
const char *protected_reason(const struct protected_networks *networks,
                             const struct policy_address *address);

/* All that is protected in one family as sorted, disjoint intervals (verdict deny, no ports). The
 * caller ends with policy_ranges_free(). */
void protected_ranges(const struct protected_networks *networks, enum policy_family family,
                      struct policy_range **ranges, size_t *count);
