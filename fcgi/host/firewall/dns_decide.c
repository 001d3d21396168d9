/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "firewall/dns_decide.h"

#include <string.h>

/* RFC 9460; ldns before 1.8.2 does not name them. */
#define TYPE_SVCB  64
#define TYPE_HTTPS 65

enum dns_action dns_decide_question(const struct policy *policy,
                                    const struct dns_question *question)
{
    struct policy_name name;
    if (!*question->name || question->type == LDNS_RR_TYPE_ANY ||
        question->type == LDNS_RR_TYPE_AXFR || question->type == LDNS_RR_TYPE_IXFR)
        return DNS_ANSWER_REFUSED;
    if (egress_has_host(policy->egress, question->name, 0))
        return question->type == LDNS_RR_TYPE_A ? DNS_ANSWER_PROXY : DNS_ANSWER_EMPTY;
    policy_name_find(policy, question->name, &name);
    bool resolves = name.resolves;
    policy_name_deinit(&name);
    if (!resolves)
        return DNS_ANSWER_REFUSED;
    switch (question->type) {
    case LDNS_RR_TYPE_A:
        return DNS_FORWARD;
    case LDNS_RR_TYPE_AAAA:
    case TYPE_SVCB:
    case TYPE_HTTPS:
        return DNS_ANSWER_EMPTY;
    default:
        return policy->default_verdict == POLICY_ALLOW ? DNS_FORWARD : DNS_ANSWER_REFUSED;
    }
}

bool dns_by_wildcard(const struct policy *policy, const char *name)
{
    struct policy_decision decision = policy_decide_name(policy, name, 0);
    for (size_t i = 0; i < policy->count; i++)
        if (policy->rules[i].entry.kind == POLICY_HOST &&
            policy_entry_matches_name(&policy->rules[i].entry, name))
            return false;
    return policy->default_verdict == POLICY_DENY ||
           (decision.rule && decision.rule->entry.kind == POLICY_WILDCARD);
}

size_t dns_decide_addresses(const struct protected_networks *networks,
                            const struct dns_result *result, uint32_t *addresses, size_t max,
                            bool *some_removed)
{
    size_t kept = 0, count = dns_result_addresses(result, addresses, max);
    for (size_t i = 0; i < count; i++) {
        struct policy_address address = policy_address_ipv4(addresses[i]);
        if (!protected_reason(networks, &address))
            addresses[kept++] = addresses[i];
    }
    *some_removed = kept < count;
    return kept;
}

_Static_assert(DNS_NAME_MAX == POLICY_HOST_MAX, "a name fits, whichever of the two it is called");

struct alias_search {
    const struct policy *policy;
    char *alias;
};

static bool alias_is_fine(void *context, const char *name)
{
    struct alias_search *search = context;
    struct policy_name found;
    policy_name_find(search->policy, name, &found);
    bool denied = found.listed && !found.resolves;
    policy_name_deinit(&found);
    if (denied)
        memcpy(search->alias, name, strlen(name) + 1);
    return !denied;
}

bool dns_denied_alias(const struct policy *policy, const struct dns_result *result,
                      char alias[POLICY_HOST_MAX + 1])
{
    struct alias_search search = {policy, alias};
    return !dns_result_each_alias(result, alias_is_fine, &search);
}
