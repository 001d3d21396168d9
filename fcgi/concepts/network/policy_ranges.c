/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Turn rules into intervals. Two networks are nested or disjoint, so the networks around an address
 * form a chain. The rules are sorted by the first address of their network, wide networks first.
 * One sweep over them keeps the chain on a stack.
 */
#include <stdlib.h>

#include "base/mem.h"
#include "network/policy_range.h"

/* a prefix of each length */
#define DEPTH_MAX 129

/* The rules of one network. */
struct level {
    struct policy_address last;
    const struct policy_rule *const *rules;
    size_t count;
};

struct sweep {
    const struct policy *policy;
    enum policy_family family;
    struct level stack[DEPTH_MAX];
    size_t depth;
    struct policy_address at; /* ranges up to here are written */
    bool done;                /* the last address of the family is written */
    struct policy_range *ranges;
    size_t count, capacity;
};

/* Advance to the next address; false when the family has none. */
static bool address_after(struct policy_address *address)
{
    for (int i = address->family == POLICY_IPV4 ? 3 : 15; i >= 0; i--)
        if (++address->bytes[i])
            return true;
    return false;
}

static bool address_before(struct policy_address *address)
{
    for (int i = address->family == POLICY_IPV4 ? 3 : 15; i >= 0; i--)
        if (address->bytes[i]--)
            return true;
    return false;
}

/* --- verdicts of a chain --- */

/* Find the verdict of a network's rules for a port (0: rules without a port); false when it has no
 * such rule. */
static bool level_decides(const struct level *level, uint16_t port, enum policy_verdict *verdict)
{
    bool found = false;
    for (size_t i = 0; i < level->count; i++) {
        if (level->rules[i]->entry.port != port)
            continue;
        if (!found || level->rules[i]->verdict == POLICY_DENY)
            *verdict = level->rules[i]->verdict;
        found = true;
    }
    return found;
}

static enum policy_verdict chain_verdict(const struct sweep *sweep, uint16_t port)
{
    enum policy_verdict verdict;
    for (size_t i = sweep->depth; i-- > 0;)
        if ((port && level_decides(&sweep->stack[i], port, &verdict)) ||
            level_decides(&sweep->stack[i], 0, &verdict))
            return verdict;
    return sweep->policy->default_verdict;
}

static void chain_ports(const struct sweep *sweep, struct policy_range *range)
{
    for (size_t i = 0; i < sweep->depth; i++) {
        const struct level *level = &sweep->stack[i];
        for (size_t j = 0; j < level->count; j++) {
            uint16_t port = level->rules[j]->entry.port;
            if (!port)
                continue;
            range->ports = xreallocarray(range->ports, range->port_count + 1, sizeof *range->ports);
            range->ports[range->port_count++] =
                (struct policy_port){port, chain_verdict(sweep, port)};
        }
    }
    policy_ports_finish(range->verdict, &range->ports, &range->port_count);
}

/* --- writing --- */

static bool same_ports(const struct policy_range *a, const struct policy_range *b)
{
    if (a->port_count != b->port_count)
        return false;
    for (size_t i = 0; i < a->port_count; i++)
        if (a->ports[i].port != b->ports[i].port || a->ports[i].verdict != b->ports[i].verdict)
            return false;
    return true;
}

static bool continues(const struct policy_range *before, const struct policy_range *range)
{
    struct policy_address next = before->last;
    return address_after(&next) && policy_address_compare(&next, &range->first) == 0 &&
           before->verdict == range->verdict && same_ports(before, range);
}

/* Write the verdicts from sweep->at to last, and advance behind last. */
static void write_up_to(struct sweep *sweep, const struct policy_address *last)
{
    struct policy_range range = {
        .first = sweep->at, .last = *last, .verdict = chain_verdict(sweep, 0)};
    chain_ports(sweep, &range);
    sweep->at = *last;
    sweep->done = !address_after(&sweep->at);
    if (sweep->count && continues(&sweep->ranges[sweep->count - 1], &range)) {
        sweep->ranges[sweep->count - 1].last = *last;
        free(range.ports);
        return;
    }
    if (range.verdict == sweep->policy->default_verdict && !range.port_count)
        return;
    if (sweep->count == sweep->capacity) {
        sweep->capacity = sweep->capacity ? sweep->capacity * 2 : 16;
        sweep->ranges = xreallocarray(sweep->ranges, sweep->capacity, sizeof *sweep->ranges);
    }
    sweep->ranges[sweep->count++] = range;
}

/* Leave the networks that end before the address; NULL: all networks. */
static void leave(struct sweep *sweep, const struct policy_address *address)
{
    while (sweep->depth) {
        struct policy_address last = sweep->stack[sweep->depth - 1].last;
        if (address && policy_address_compare(&last, address) >= 0)
            return;
        if (!sweep->done && policy_address_compare(&sweep->at, &last) <= 0)
            write_up_to(sweep, &last);
        sweep->depth--;
    }
}

static void enter(struct sweep *sweep, const struct policy_rule *const *rules, size_t count)
{
    const struct policy_entry *entry = &rules[0]->entry;
    leave(sweep, &entry->network);
    if (!sweep->depth) {
        sweep->at = entry->network;
    } else if (policy_address_compare(&sweep->at, &entry->network) < 0) {
        struct policy_address before = entry->network;
        address_before(&before);
        write_up_to(sweep, &before);
    }
    sweep->stack[sweep->depth++] =
        (struct level){policy_network_last(&entry->network, entry->prefix_length), rules, count};
}

static int compare_rules(const void *a, const void *b)
{
    const struct policy_entry *left = &(*(const struct policy_rule *const *)a)->entry;
    const struct policy_entry *right = &(*(const struct policy_rule *const *)b)->entry;
    int order = policy_address_compare(&left->network, &right->network);
    return order ? order : left->prefix_length - right->prefix_length;
}

void policy_ranges(const struct policy *policy, enum policy_family family,
                   struct policy_range **ranges, size_t *count)
{
    autofree const struct policy_rule **rules = xcalloc(policy->count + 1, sizeof *rules);
    struct sweep sweep = {.policy = policy, .family = family};
    size_t used = 0;
    for (size_t i = 0; i < policy->count; i++) {
        const struct policy_entry *entry = &policy->rules[i].entry;
        if (entry->kind == POLICY_NETWORK && entry->network.family == family)
            rules[used++] = &policy->rules[i];
    }
    qsort(rules, used, sizeof *rules, compare_rules);
    for (size_t i = 0, same; i < used; i += same) {
        for (same = 1; i + same < used && compare_rules(&rules[i], &rules[i + same]) == 0;)
            same++;
        enter(&sweep, rules + i, same);
    }
    leave(&sweep, NULL);
    *ranges = sweep.ranges;
    *count = sweep.count;
}

void policy_ranges_free(struct policy_range *ranges, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(ranges[i].ports);
    free(ranges);
}
