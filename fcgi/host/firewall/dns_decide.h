/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What to do with a sandbox's question, and with the answer to it; without any input or output. */
#pragma once

#include "dns/message.h"
#include "firewall/filter.h"

enum dns_action {
    DNS_FORWARD,
    DNS_ANSWER_EMPTY,
    DNS_ANSWER_REFUSED,
};

enum dns_action dns_decide_question(const struct policy *policy,
                                    const struct dns_question *question);

/* Whether the name is allowed by nothing but a wildcard: a way to carry bytes out to the owner of
 * the zone, and therefore the slowest. */
bool dns_by_wildcard(const struct policy *policy, const char *name);

/* Which addresses of a result the sandbox may see; the others are protected. */
size_t dns_decide_addresses(const struct protected_networks *networks,
                            const struct dns_result *result, uint32_t *addresses, size_t max,
                            bool *some_removed);

/* The first alias that the policy denies by name, in alias; false when there is none. */
bool dns_denied_alias(const struct policy *policy, const struct dns_result *result,
                      char alias[POLICY_HOST_MAX + 1]);
