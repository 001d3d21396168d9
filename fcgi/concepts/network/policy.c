/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "network/policy.h"

#include <stdlib.h>

#include "base/mem.h"
#include "network/policy_range.h"

const char *policy_verdict_name(enum policy_verdict verdict)
{
    return verdict == POLICY_ALLOW ? "allow" : "deny";
}

void policy_deinit(struct policy *policy)
{
    for (size_t i = 0; i < policy->count; i++) {
        policy_entry_deinit(&policy->rules[i].entry);
        free(policy->rules[i].origin);
    }
    free(policy->rules);
    json_decref(policy->egress);
    json_decref(policy->proxy);
    *policy = (struct policy){0};
}

int policy_add(struct policy *policy, const char *text, enum policy_verdict verdict,
               const char *origin, struct error **err)
{
    struct policy_entry entry;
    if (policy->count >= POLICY_RULES_MAX)
        return error_set(err, ERR_INVALID_REQUEST, "A policy has at most %d rules.",
                         POLICY_RULES_MAX);
    if (policy_entry_parse(text, &entry, err) < 0)
        return -1;
    if (!(policy->count & (policy->count - 1))) /* a power of two: full */
        policy->rules = xreallocarray(policy->rules, policy->count ? policy->count * 2 : 1,
                                      sizeof *policy->rules);
    policy->rules[policy->count++] = (struct policy_rule){entry, verdict, xstrdup(origin)};
    return 0;
}

/* --- deciding --- */

/* Check whether the rule overrides the one chosen so far (NULL: none). */
static bool overrides(const struct policy_rule *rule, const struct policy_rule *chosen)
{
    if (!chosen)
        return true;
    int order = policy_entry_compare(&rule->entry, &chosen->entry);
    return order > 0 ||
           (order == 0 && rule->verdict == POLICY_DENY && chosen->verdict == POLICY_ALLOW);
}

static struct policy_decision decision_by(const struct policy *policy,
                                          const struct policy_rule *rule)
{
    return (struct policy_decision){rule ? rule->verdict : policy->default_verdict, rule};
}

static bool matches_port(const struct policy_rule *rule, uint16_t port)
{
    return !rule->entry.port || rule->entry.port == port;
}

struct policy_decision policy_decide_name(const struct policy *policy, const char *name,
                                          uint16_t port)
{
    const struct policy_rule *chosen = NULL;
    for (size_t i = 0; i < policy->count; i++) {
        const struct policy_rule *rule = &policy->rules[i];
        if (matches_port(rule, port) && policy_entry_matches_name(&rule->entry, name) &&
            overrides(rule, chosen))
            chosen = rule;
    }
    return decision_by(policy, chosen);
}

struct policy_decision policy_decide_address(const struct policy *policy,
                                             const struct policy_address *address, uint16_t port)
{
    const struct policy_rule *chosen = NULL;
    for (size_t i = 0; i < policy->count; i++) {
        const struct policy_rule *rule = &policy->rules[i];
        if (matches_port(rule, port) && policy_entry_matches_address(&rule->entry, address) &&
            overrides(rule, chosen))
            chosen = rule;
    }
    return decision_by(policy, chosen);
}

/* --- names --- */

static int compare_ports(const void *a, const void *b)
{
    const struct policy_port *left = a, *right = b;
    return left->port < right->port ? -1 : left->port > right->port;
}

void policy_ports_finish(enum policy_verdict base, struct policy_port **ports, size_t *count)
{
    size_t kept = 0;
    if (*count)
        qsort(*ports, *count, sizeof **ports, compare_ports);
    for (size_t i = 0; i < *count; i++)
        if ((*ports)[i].verdict != base && (!kept || (*ports)[kept - 1].port != (*ports)[i].port))
            (*ports)[kept++] = (*ports)[i];
    *count = kept;
    if (!kept) {
        free(*ports);
        *ports = NULL;
    }
}

void policy_name_find(const struct policy *policy, const char *name, struct policy_name *found)
{
    *found = (struct policy_name){.any_port = policy_decide_name(policy, name, 0)};
    for (size_t i = 0; i < policy->count; i++) {
        const struct policy_entry *entry = &policy->rules[i].entry;
        if (!policy_entry_matches_name(entry, name))
            continue;
        found->listed = true;
        if (!entry->port)
            continue;
        found->ports = xreallocarray(found->ports, found->port_count + 1, sizeof *found->ports);
        found->ports[found->port_count++] = (struct policy_port){
            entry->port, policy_decide_name(policy, name, entry->port).verdict};
    }
    policy_ports_finish(found->any_port.verdict, &found->ports, &found->port_count);
    /* A port in the list differs from the rest; where the rest is denied, it is allowed. */
    found->resolves = found->any_port.verdict == POLICY_ALLOW || found->port_count;
}

void policy_name_deinit(struct policy_name *found)
{
    free(found->ports);
    *found = (struct policy_name){0};
}
