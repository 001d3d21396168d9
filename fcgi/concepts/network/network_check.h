/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Decide whether a sandbox with this policy would reach a host and port, and name the rule that
 * decides. */
#pragma once

#include "network/protected.h"
#include "network/sandbox_policy.h"

struct network_question {
    const char *host; /* a name, or an address with or without brackets */
    uint16_t port;
};

struct network_verdict {
    enum policy_verdict verdict;
    bool asks;                      /* it is denied until the owner approves */
    const struct policy_rule *rule; /* the rule that decided; NULL: none, see reason */
    /* entry, default, protected_network, ipv6 (sandboxes have none), name_service (sandboxes reach
     * only the resolver of the service) */
    const char *reason;
    char message[320]; /* a sentence for people */
};

/* Decide from the policy alone, without sending anything. Errors: ERR_INVALID_REQUEST with the
 * field /host. */
int network_verdict_find(const struct policy *policy, const struct protected_networks *networks,
                         const struct network_question *question, struct network_verdict *verdict,
                         struct error **err);
