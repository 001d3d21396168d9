/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "network/protected.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/panic.h"

/* The networks of RFC 6890 and its registries, without the documentation networks, which no network
 * routes, and a metadata address that the registries lack. */
static const struct {
    const char *network;
    const char *reason;
    bool may_open;
} known[] = {
    {"0.0.0.0/8", "this host's own network 0.0.0.0/8", false},
    {"10.0.0.0/8", "private network 10.0.0.0/8", true},
    {"100.64.0.0/10", "shared address space 100.64.0.0/10", true},
    {"127.0.0.0/8", "loopback 127.0.0.0/8", false},
    /* A virtual machine of Azure gets its settings and secrets from this public address. */
    {"168.63.129.16", "metadata address 168.63.129.16 of Azure", false},
    {"169.254.0.0/16", "link-local network 169.254.0.0/16, which has metadata services", false},
    {"172.16.0.0/12", "private network 172.16.0.0/12", true},
    {"192.0.0.0/24", "protocol assignments 192.0.0.0/24", true},
    {"192.168.0.0/16", "private network 192.168.0.0/16", true},
    {"198.18.0.0/15", "benchmark network 198.18.0.0/15", true},
    {"224.0.0.0/4", "multicast 224.0.0.0/4", false},
    {"240.0.0.0/4", "reserved and broadcast addresses 240.0.0.0/4", false},
    {"::/96", "unspecified, loopback and IPv4-compatible addresses ::/96", false},
    {"::ffff:0:0:0/96", "translated addresses ::ffff:0:0:0/96", false},
    {"64:ff9b::/96", "translated addresses 64:ff9b::/96", false},
    {"64:ff9b:1::/48", "translated addresses 64:ff9b:1::/48", false},
    {"2001::/32", "Teredo 2001::/32", false},
    {"2002::/16", "6to4 2002::/16", false},
    {"fc00::/7", "private network fc00::/7", true},
    {"fe80::/10", "link-local network fe80::/10", false},
    {"fec0::/10", "site-local network fec0::/10", false},
    {"ff00::/8", "multicast ff00::/8", false},
};

static int read_network(const char *text, struct protected_network *network, struct error **err)
{
    struct policy_entry entry;
    if (policy_entry_parse(text, &entry, err) < 0)
        return error_recode(err, ERR_CONFIG);
    *network = (struct protected_network){entry.network, entry.prefix_length, NULL};
    bool plain = entry.kind == POLICY_NETWORK && !entry.port;
    policy_entry_deinit(&entry);
    return plain ? 0 : error_set(err, ERR_CONFIG, "%s is not a network", text);
}

static bool covers(const struct protected_network *network, const struct policy_address *address)
{
    struct policy_entry entry = {.kind = POLICY_NETWORK,
                                 .network = network->network,
                                 .prefix_length = network->prefix_length};
    return policy_entry_matches_address(&entry, address);
}

static bool meet(const struct protected_network *a, const struct protected_network *b)
{
    return covers(a, &b->network) || covers(b, &a->network);
}

static struct protected_network known_network(size_t index)
{
    struct protected_network network = {0};
    error_auto err = NULL;
    if (read_network(known[index].network, &network, &err) < 0)
        panic("the table of protected networks is wrong");
    return network;
}

static int add_open(struct protected_networks *networks, const char *setting,
                    const struct protected_network *network, struct error **err)
{
    if (networks->open_count == PROTECTED_OPEN_MAX)
        return error_set(err, ERR_CONFIG, "%s: more than %d networks", setting, PROTECTED_OPEN_MAX);
    networks->open[networks->open_count++] = *network;
    return 0;
}

static int open_one(struct protected_networks *networks, const char *text, struct error **err)
{
    struct protected_network network;
    if (read_network(text, &network, err) < 0)
        return error_context(err, "protected_networks_open: %s", text);
    for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
        struct protected_network closed = known_network(i);
        if (!known[i].may_open && meet(&network, &closed))
            return error_set(err, ERR_CONFIG,
                             "protected_networks_open: %s overlaps with %s, which cannot be opened",
                             text, known[i].reason);
    }
    return add_open(networks, "protected_networks_open", &network, err);
}

int protected_open_any(struct protected_networks *networks, const char *setting, const char *text,
                       struct error **err)
{
    autofree char *copy = xstrdup(text);
    char *rest = NULL;
    for (char *word = strtok_r(copy, ", \t", &rest); word; word = strtok_r(NULL, ", \t", &rest)) {
        struct protected_network network;
        if (read_network(word, &network, err) < 0)
            return error_context(err, "%s: %s", setting, word);
        if (add_open(networks, setting, &network, err) < 0)
            return -1;
    }
    return 0;
}

int protected_open(struct protected_networks *networks, const char *text, struct error **err)
{
    autofree char *copy = xstrdup(text);
    char *rest = NULL;
    for (char *word = strtok_r(copy, ", \t", &rest); word; word = strtok_r(NULL, ", \t", &rest))
        if (open_one(networks, word, err) < 0)
            return -1;
    return 0;
}

static int add_closed(struct protected_networks *networks, const struct protected_network *network,
                      const char *reason, struct error **err)
{
    if (networks->closed_count == PROTECTED_CLOSED_MAX)
        return error_set(err, ERR_CONFIG, "more than %d protected networks of this deployment",
                         PROTECTED_CLOSED_MAX);
    networks->closed[networks->closed_count] = *network;
    networks->closed[networks->closed_count++].reason = reason;
    return 0;
}

int protected_close(struct protected_networks *networks, const char *text, struct error **err)
{
    struct protected_network network;
    if (read_network(text, &network, err) < 0)
        return -1;
    return add_closed(networks, &network, "network of the sandboxes or of a host", err);
}

static bool is_open(const struct protected_networks *networks, const struct policy_address *address)
{
    for (size_t i = 0; i < networks->open_count; i++)
        if (covers(&networks->open[i], address))
            return true;
    return false;
}

int protected_close_own(struct protected_networks *networks, const char *text, struct error **err)
{
    struct protected_network network;
    if (read_network(text, &network, err) < 0)
        return -1;
    if (is_open(networks, &network.network))
        return 0;
    return add_closed(networks, &network, "an address of the service's own machine", err);
}

const char *protected_reason(const struct protected_networks *networks,
                             const struct policy_address *address)
{
    for (size_t i = 0; i < networks->closed_count; i++)
        if (covers(&networks->closed[i], address))
            return networks->closed[i].reason;
    if (is_open(networks, address))
        return NULL;
    for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
        struct protected_network network = known_network(i);
        if (covers(&network, address))
            return known[i].reason;
    }
    return NULL;
}

/* --- as intervals --- */

static void add(struct policy *policy, const struct protected_network *network,
                enum policy_verdict verdict)
{
    policy->rules = xreallocarray(policy->rules, policy->count + 1, sizeof *policy->rules);
    policy->rules[policy->count++] = (struct policy_rule){{.kind = POLICY_NETWORK,
                                                           .network = network->network,
                                                           .prefix_length = network->prefix_length},
                                                          verdict,
                                                          xstrdup("")};
}

/* Check whether a network that is never opened contains this one. Otherwise the opened network
 * would win as the more specific one. */
static bool is_closed(const struct protected_networks *networks,
                      const struct protected_network *open)
{
    for (size_t i = 0; i < networks->closed_count; i++)
        if (networks->closed[i].prefix_length <= open->prefix_length &&
            covers(&networks->closed[i], &open->network))
            return true;
    return false;
}

void protected_ranges(const struct protected_networks *networks, enum policy_family family,
                      struct policy_range **ranges, size_t *count)
{
    policy_auto policy = {.default_verdict = POLICY_ALLOW};
    for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
        struct protected_network network = known_network(i);
        bool opened = false;
        /* A wider network opens all of this one, but would lose against it as the less specific
         * one. */
        for (size_t j = 0; j < networks->open_count; j++)
            opened |= networks->open[j].prefix_length <= network.prefix_length &&
                      covers(&networks->open[j], &network.network);
        if (!opened)
            add(&policy, &network, POLICY_DENY);
    }
    for (size_t i = 0; i < networks->open_count; i++)
        if (!is_closed(networks, &networks->open[i]))
            add(&policy, &networks->open[i], POLICY_ALLOW);
    for (size_t i = 0; i < networks->closed_count; i++)
        add(&policy, &networks->closed[i], POLICY_DENY);
    policy_ranges(&policy, family, ranges, count);
}
