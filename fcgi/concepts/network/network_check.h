/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Would a sandbox with this policy reach that host and port, and what decides it? */
#pragma once

#include "network/protected.h"
#include "network/sandbox_policy.h"

struct network_question {
    const char *host; /* a name, or an address with or without brackets */
    uint16_t port;
};

struct network_verdict {
    enum policy_verdict verdict;
    const struct policy_rule *rule; /* the rule that decided; NULL: none, see reason */
    /* entry, default, protected_network, ipv6 (sandboxes have none), name_service (only the
     * service's own resolver can be asked) */
    const char *reason;
    char message[320]; /* a sentence for people */
};

/* Decided from the policy alone; nothing is asked on the network. Errors: ERR_INVALID_REQUEST with
 * the field /host. */
int network_verdict_find(const struct policy *policy, const struct protected_networks *networks,
                         const struct network_question *question, struct network_verdict *verdict,
                         struct error **err);
