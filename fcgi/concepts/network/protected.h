/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Networks that no sandbox reaches; no policy can change this. The operator may open some: private
 * ranges, shared address space, benchmarks. Others stay closed: this host, loopback, link-local
 * with its metadata address, multicast and the sandboxes' own ranges. The list follows the
 * special-purpose registries of RFC 6890.
 */
#pragma once

#include "network/policy.h"

#define PROTECTED_OPEN_MAX   64
#define PROTECTED_CLOSED_MAX 256

struct protected_network {
    struct policy_address network;
    uint8_t prefix_length;
    const char *reason; /* of a closed network; static */
};

struct protected_networks {
    struct protected_network open[PROTECTED_OPEN_MAX]; /* opened by the operator */
    size_t open_count;
    struct protected_network closed[PROTECTED_CLOSED_MAX]; /* of this deployment, never opened */
    size_t closed_count;
};

/* Fill open from the setting protected_networks_open: networks, separated by commas or blanks; ""
 * opens nothing. Errors: ERR_CONFIG for text that is not a network, and for a network that overlaps
 * one that can never be opened. */
int protected_open(struct protected_networks *networks, const char *text, struct error **err);

/* Fill open from another setting, for programs outside sandboxes: every network may be opened.
 * setting: its name, for errors. Errors: ERR_CONFIG for text that is not a network, and when there
 * are too many. */
int protected_open_any(struct protected_networks *networks, const char *setting, const char *text,
                       struct error **err);

/* Add a network that is never opened: the sandboxes' range, an address of a host. Errors:
 * ERR_CONFIG for text that is not a network, and when there are too many. */
int protected_close(struct protected_networks *networks, const char *text, struct error **err);

/* Add an address of this machine, unless the operator has opened it. Errors as above. */
int protected_close_own(struct protected_networks *networks, const char *text, struct error **err);

/* Return why the address is protected ("private network 10.0.0.0/8"), or NULL when it is not;
 * static. */
const char *protected_reason(const struct protected_networks *networks,
                             const struct policy_address *address);

/* Return all protected networks of one family as sorted, disjoint intervals (verdict deny, no
 * ports). The caller ends with policy_ranges_free(). */
void protected_ranges(const struct protected_networks *networks, enum policy_family family,
                      struct policy_range **ranges, size_t *count);
