/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Decide about a sandbox's question and its answer. Without input and output. */
#pragma once

#include "dns/message.h"
#include "firewall/filter.h"

enum dns_action {
    DNS_FORWARD,
    DNS_ANSWER_EMPTY,
    DNS_ANSWER_REFUSED,
    DNS_ANSWER_PROXY, /* a host with egress rules: the address is the proxy's */
};

enum dns_action dns_decide_question(const struct policy *policy,
                                    const struct dns_question *question);

/* Return whether only a wildcard allows the name. Questions for such names can carry bytes to the
 * owner of the zone, so they get the lowest rate. */
bool dns_by_wildcard(const struct policy *policy, const char *name);

/* Select the addresses of a result that the sandbox may see; the others are protected. */
size_t dns_decide_addresses(const struct protected_networks *networks,
                            const struct dns_result *result, uint32_t *addresses, size_t max,
                            bool *some_removed);

/* Find the first alias that the policy denies by name. Returns false when the policy denies no
 * alias. */
bool dns_denied_alias(const struct policy *policy, const struct dns_result *result,
                      char alias[POLICY_HOST_MAX + 1]);
